"""Safe barriers: one wherever LDS accesses might otherwise meet."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ir import Region
from wave_core.ir import insert_before
from wave_core.ir import resolve
from wave_core.ir import walk
from wave_core.ops.control import Conditional
from wave_core.ops.control import Iterate
from wave_core.ops.control import SetSymbol
from wave_core.ops.memory import Allocate
from wave_core.ops.sync import MemoryCounterWait
from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.ops.sync import WorkgroupBarrier
from wave_core.ops.traits import EffectKind
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr


@dataclass
class _Pending:
    """Buffers touched since the last barrier.

    ``drained`` says that all these accesses have completed, which a bare workgroup
    barrier does not wait for.
    """

    read: set[Op] = field(default_factory=set["Op"])
    written: set[Op] = field(default_factory=set["Op"])
    drained: bool = False

    def pass_over(self, op: Op) -> None:
        """Take note of the author's barriers and waits."""
        if isinstance(op, MemoryCounterWait) and op.ds == 0:
            self.drained = True
        whole = isinstance(op, SharedMemoryBarrier)
        if whole or (isinstance(op, WorkgroupBarrier) and self.drained):
            self.clear()

    def clear(self) -> None:
        """Every wave has seen everything."""
        self.read.clear()
        self.written.clear()

    def merge(self, other: _Pending) -> None:
        """What either of two paths leaves."""
        self.read |= other.read
        self.written |= other.written
        self.drained = False

    def copy(self) -> _Pending:
        """A state of its own."""
        return _Pending(set(self.read), set(self.written), self.drained)

    def conflicts(self, kind: EffectKind, buffer: Op) -> bool:
        """Whether an access now may meet one that is pending."""
        if buffer in self.written:
            return True
        return kind is not EffectKind.READ and buffer in self.read

    def add(self, kind: EffectKind, buffer: Op) -> None:
        """Note an access."""
        self.drained = False
        if kind is EffectKind.READ:
            self.read.add(buffer)
        else:
            self.written.add(buffer)


@dataclass(frozen=True)
class InsertSafeBarriers(Pass):
    """Put a barrier before every LDS access that follows a conflicting one.

    Two accesses of one buffer conflict if one of them writes. What a loop's body
    touches counts as touched before its first op, for the iteration before. A
    barrier that a conditional's body needs against what came before stands before
    the conditional, where all waves pass. The author's own barriers count. Correct
    without any analysis of which elements are touched; the memory plugin's pass
    places fewer.

    Raises:
        UserError: WV0412 where accesses conflict inside a region that not all waves
            of a workgroup enter together.
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Insert the barriers."""
        own = {op.symbol for op in graph.walk() if isinstance(op, SetSymbol)}
        inserted = _Guard(own).region(graph.body, _Pending(), None)
        context.count("barriers", inserted)
        return inserted > 0


class _Guard:
    """Inserts barriers into regions.

    ``own_symbols`` are those that the kernel sets; their values come from registers,
    so they may differ from wave to wave.
    """

    def __init__(self, own_symbols: set[Expr]) -> None:
        self._own_symbols = own_symbols

    def region(self, region: Region, pending: _Pending, divergent: Op | None) -> int:
        """Guard the ops of ``region``; ``pending`` goes in and comes out.

        ``divergent`` is the op around whose body not all waves may enter.
        """
        inserted = 0
        for op in region.ops:
            pending.pass_over(op)
            ahead = _all_touched(op) if isinstance(op, Conditional) else _touched(op)
            if any(pending.conflicts(kind, buffer) for kind, buffer in ahead):
                _insert(op, divergent)
                inserted += 1
                pending.clear()
            around = divergent if self._uniform(op) else op
            for nested in op.regions:
                inserted += self._nested(op, nested, pending, around)
            for kind, buffer in _touched(op):
                pending.add(kind, buffer)
        return inserted

    def _nested(
        self, op: Op, region: Region, pending: _Pending, divergent: Op | None
    ) -> int:
        before = pending.copy()
        if isinstance(op, Iterate):
            pending.merge(_left_pending(region))
        inserted = self.region(region, pending, divergent)
        pending.merge(before)
        return inserted

    def _uniform(self, op: Op) -> bool:
        """Whether all waves of a workgroup enter the regions of ``op`` alike."""
        if isinstance(op, Iterate):
            return op.count is None or not self._differs(op.count)
        if isinstance(op, Conditional):
            return op.expr is not None and not self._differs(op.expr)
        return True

    def _differs(self, expr: Expr) -> bool:
        """Whether an expression may differ between the waves of a workgroup."""
        return any(
            symbol in self._own_symbols or str(symbol).startswith("$WV")
            for symbol in expr.free_symbols
        )


def _insert(op: Op, divergent: Op | None) -> None:
    if divergent is not None:
        raise user_error(
            "WV0412",
            "shared memory needs a barrier where not all waves may come along",
            at=op.location,
            label="conflicts with an access before it",
            secondary=[(divergent.location, "waves may differ in entering this")],
            help=("move one of the accesses out",),
        )
    insert_before(op, SharedMemoryBarrier())


def _left_pending(region: Region) -> _Pending:
    """What an iteration leaves without a barrier after it."""
    left = _Pending()
    for op in region.ops:
        left.pass_over(op)
        for nested in op.regions:
            left.merge(_left_pending(nested))
        for kind, buffer in _touched(op):
            left.add(kind, buffer)
    return left


def _all_touched(op: Op) -> list[tuple[EffectKind, Op]]:
    """The LDS buffers that ``op`` or an op within touches."""
    found = _touched(op)
    for nested in op.regions:
        assert isinstance(nested, Region), "regions of the graph"
        for inner in walk(nested):
            found.extend(_touched(inner))
    return found


def _touched(op: Op) -> list[tuple[EffectKind, Op]]:
    """The LDS buffers that ``op`` itself touches."""
    found: list[tuple[EffectKind, Op]] = []
    for effect in op.effects():
        if effect.memory is None or effect.kind is EffectKind.ALLOCATE:
            continue
        buffer = resolve(effect.memory)
        if isinstance(buffer, Allocate):
            found.append((effect.kind, buffer))
    return found
