"""Order among the lanes of a wave that do not run in step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from wave_core.analysis.dependences.lanes import LanePlaces
from wave_core.analysis.effects import touched_memories
from wave_core.constraints.machine import LANE
from wave_core.diagnostics import user_error
from wave_core.ir import ACCESS, insert_before, region_of, walk_op
from wave_core.ops.control import Conditional, Iterate, While, symbols_set_by
from wave_core.ops.memory import Allocate
from wave_core.ops.sync import SharedMemoryBarrier, WaveFence, WorkgroupBarrier
from wave_core.ops.traits import EffectKind
from wave_core.passes import Pass
from wave_core.types import is_of_mapping

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr

_MEETINGS = (SharedMemoryBarrier, WorkgroupBarrier, WaveFence)


@dataclass(frozen=True)
class FenceLanes(Pass):
    """Fence accesses of global memory by several lanes of a wave, one of them a write.

    Where lanes do not run in step, a lane may write what another has still to read.
    Two accesses need no fence where it is proved that no lane touches in one what
    another does in the other. A fence that a conditional's body needs against what
    came before stands before the conditional. Does nothing where all lanes of a wave
    run in step. Accesses of LDS are for the passes that place barriers.

    Example::

          kernel "k" target "generic128" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            %a = argument parameter "a" : mem<N, global, f32>
            %x = read %a, [] : reg<N, f32> @access(coordinates = [$LANE], registers = 1)
        +   wave_fence
            write %x, %a, [] @access(coordinates = [63 - $LANE], registers = 1)
            yield []
          }

    Raises:
        UserError: WV0412 where lanes must meet and not all of them may come along.
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Insert the fences, and look at those there are."""
        geometry = context.geometry(graph)
        if geometry.in_step == geometry.lanes:
            return False
        guard = _Guard(graph, geometry.lanes)
        inserted = guard.region(graph.body, [], None)
        for op in graph.walk():
            if isinstance(op, WaveFence):
                _check_together(op)
        context.count("fences", inserted)
        return inserted > 0


@dataclass(frozen=True, slots=True)
class _Touch:
    """An access: the memory, how it is touched, and where if that is known."""

    memory: Op
    kind: EffectKind
    places: LanePlaces | None

    def meets(self, other: _Touch) -> bool:
        """Whether the order of the two may matter to different lanes."""
        if self.memory is not other.memory:
            return False
        kinds = {self.kind, other.kind}
        if len(kinds) == 1 and kinds <= {EffectKind.READ, EffectKind.READ_WRITE}:
            return False
        if self.places is None or other.places is None:
            return True
        return self.places.meets(other.places)


_Touches: TypeAlias = list[_Touch]


class _Guard:
    """Inserts fences into regions."""

    def __init__(self, graph: Graph, lanes: int) -> None:
        self._graph = graph
        self._lanes = lanes
        self._known: dict[tuple[tuple[Expr, ...], int], LanePlaces | None] = {}
        ops = list(graph.walk())
        self._set = {s for op in ops for s in symbols_set_by(op)}
        self._loops = {op.induction for op in ops if isinstance(op, Iterate)}

    def region(self, region: Region, pending: _Touches, divergent: Op | None) -> int:
        """Guard the ops of ``region``; ``pending`` goes in and comes out."""
        inserted = 0
        for op in region.ops:
            if isinstance(op, _MEETINGS):
                pending.clear()
            inside = isinstance(op, Conditional)
            ahead = self._touches(walk_op(op) if inside else (op,))
            if any(old.meets(new) for old in pending for new in ahead):
                if divergent is not None:
                    raise _refused(op, divergent)
                insert_before(op, WaveFence())
                inserted += 1
                pending.clear()
            around = op if parts_lanes(op) else divergent
            for nested in op.regions:
                inserted += self._nested(op, nested, pending, around)
            pending += self._touches((op,))
        return inserted

    def _nested(
        self, op: Op, region: Region, pending: _Touches, divergent: Op | None
    ) -> int:
        before = list(pending)
        if isinstance(op, Iterate | While):
            pending += self._carried(region)
        inserted = self.region(region, pending, divergent)
        pending += before
        return inserted

    def _carried(self, region: Region) -> _Touches:
        """What an iteration leaves to the next; places that move with it are open."""
        left: _Touches = []
        for op in (each for top in region.ops for each in walk_op(top)):
            if isinstance(op, _MEETINGS) and region_of(op) is region:
                left.clear()
            left += self._touches((op,))
        return [replace(t, places=None) if self._moves(t) else t for t in left]

    def _moves(self, touch: _Touch) -> bool:
        bases = () if touch.places is None else touch.places.base
        return any(s in self._loops for base in bases for s in base.free_symbols)

    def _touches(self, ops: Iterable[Op]) -> _Touches:
        return [
            _Touch(memory, effect.kind, self._places(op))
            for op in ops
            for memory, effect in touched_memories(op)
            if not isinstance(memory, Allocate)
        ]

    def _places(self, op: Op) -> LanePlaces | None:
        """Where lanes are, as far as it is the same throughout an iteration."""
        row = self._graph.facts.get(ACCESS, op)
        if row is None:
            return None
        symbols = {s for each in row.coordinates for s in each.free_symbols}
        if any(s in self._set or is_of_mapping(s.name) for s in symbols):
            return None
        key = row.coordinates, row.registers
        if key not in self._known:
            self._known[key] = LanePlaces.of(row, self._lanes)
        return self._known[key]


def parts_lanes(op: Op) -> bool:
    """Whether some lanes of a wave may enter the regions of ``op`` and others not."""
    if isinstance(op, While):
        return op.by_lane
    if not isinstance(op, Conditional):
        return False
    if op.condition is None:
        return op.expr is not None and LANE in op.expr.free_symbols
    return bool(op.condition.register_type.dims)


def _check_together(op: Op) -> None:
    for around in region_of(op).around:
        if parts_lanes(around):
            raise _refused(op, around)


def _refused(op: Op, divergent: Op) -> Exception:
    return user_error(
        "WV0412",
        "lanes that do not run in step must meet where not all may come along",
        at=op.location,
        label="conflicts with an access before it",
        secondary=[(divergent.location, "lanes may differ in entering this")],
        help=(
            "move one of the accesses out",
            "or use waves whose lanes run in step: `threads_per_wave`",
        ),
    )
