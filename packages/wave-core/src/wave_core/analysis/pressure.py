"""How many registers a kernel needs at least, from its lowered graph.

A value that a loop carries, or that is computed before a loop or a barrier and used
after it, is in registers there: the code generator can spill it, and not avoid it.
Between such points it may reorder, so what a straight piece of code needs is not
counted. Constants and functions of the lane are computed again where they are used.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from wave_core.analysis.effects import written_memories
from wave_core.ir import PLACEMENT, Graph, Region, resolve
from wave_core.ops.control import Conditional, Iterate, While
from wave_core.ops.memory import Read
from wave_core.ops.shape import Assemble
from wave_core.ops.structure import Argument
from wave_core.ops.traits import EffectKind, Trait
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_core.ops.base import Op

REGISTER_BITS = 32

_NESTING = Iterate | While | Conditional

_Values = dict[int, "Op"]
"""Values by their keys."""

_Origins = tuple[tuple[int, int], ...]
"""For each register the key of a value, and which of its registers it is."""


@dataclass(frozen=True)
class Pressure:
    """The widest point of a kernel.

    Attributes:
        registers: 32-bit registers of each lane that values need there.
        at: The loop or the barrier.
        values: The values that are held there, at least in part.
    """

    registers: int
    at: Op | None
    values: tuple[Op, ...]


def widest_point(graph: Graph) -> Pressure:
    """The loop or barrier across which values need most registers."""
    return _Search(graph).region(graph.body, {})


def words_of(value: Op, count: int) -> int:
    """Registers of 32 bits for ``count`` elements of a value; narrow ones share."""
    dtype = value.register_type.dtype
    return -(-count * (8 if dtype.is_bool else dtype.bits) // REGISTER_BITS)


class _Search:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._written = {memory.ident for memory in written_memories(graph.body)}
        self._cheap: dict[int, bool] = {}
        self._parts: dict[int, _Origins] = {}
        self._known: dict[int, Op] = {}

    def region(self, region: Region, outside: _Values) -> Pressure:
        """The widest point of a region; ``outside`` is live all along."""
        last = _last_uses(region)
        own = {a.ident: a for a in region.arguments if a.role == "carried"}
        best = self._cost({**outside, **own}, None)
        alive: _Values = {key: value for key, value in own.items() if key in last}
        for index, op in enumerate(region.ops):
            if isinstance(op, _NESTING) or _is_barrier(op):
                across = (v for key, v in alive.items() if last[key] > index)
                # What is only used after the op may as well be read there.
                kept = {v.ident: v for v in across if not self._movable(v)}
                found = self._point(op, {**outside, **kept})
                best = max(best, found, key=attrgetter("registers"))
            if op.ident in last:
                alive[op.ident] = op
        return best

    def _point(self, op: Op, kept: _Values) -> Pressure:
        """The widest point within an op or at it, across which values are kept."""
        if not isinstance(op, _NESTING):
            return self._cost(kept, op)
        held = {
            value.ident: value
            for value in map(resolve, op.captures)
            if isinstance(value.type, RegisterType)
        }
        inside = self.region(op.body, {**held, **kept})
        return inside if inside.at is not None else replace(inside, at=op)

    def _cost(self, values: _Values, at: Op | None) -> Pressure:
        """The values as they are, or what they are put together from, if less."""
        held = [
            value
            for _, value in sorted(values.items())
            if isinstance(value.type, RegisterType) and not self._recomputed(value)
        ]
        total = sum(words_of(value, self._count(value)) for value in held)
        needed: dict[int, set[int]] = defaultdict(set)
        for value in held:
            for key, register in self._origins(value):
                needed[key].add(register)
        parts = [self._known[key] for key in sorted(needed) if key in self._known]
        other = sum(words_of(value, len(needed[value.ident])) for value in parts)
        if total <= other:
            return Pressure(total, at, tuple(held))
        return Pressure(other, at, tuple(parts))

    def _origins(self, value: Op) -> _Origins:
        """Where each register of the value is defined: by which value, as which."""
        found = self._parts.get(value.ident)
        if found is None:
            found = self._parts[value.ident] = self._find_origins(value)
        return found

    def _find_origins(self, value: Op) -> _Origins:
        if not isinstance(value.type, RegisterType):
            return ()
        if isinstance(value, Assemble):
            # Registers under another name.
            sources = [self._origins(resolve(source)) for source in value.sources]
            return tuple(sources[which][register] for which, register in value.picks)
        if not self._recomputed(value):
            self._known[value.ident] = value
        return tuple((value.ident, i) for i in range(self._count(value)))

    def _count(self, value: Op) -> int:
        placement = self._graph.facts.get(PLACEMENT, value)
        return 1 if placement is None else placement.layout.registers

    def _movable(self, value: Op) -> bool:
        """Whether it is read from memory that nothing writes."""
        if not isinstance(value, Read):
            return False
        memory = resolve(value.memory)
        return isinstance(memory, Argument) and memory.ident not in self._written

    def _recomputed(self, value: Op) -> bool:
        """Whether it follows from constants and the lane."""
        known = self._cheap.get(value.ident)
        if known is None:
            simple = value.has(Trait.PURE) and not isinstance(value, Argument)
            known = simple and all(self._recomputed(resolve(v)) for v in value.operands)
            self._cheap[value.ident] = known
        return known


def _is_barrier(op: Op) -> bool:
    return any(effect.kind is EffectKind.BARRIER for effect in op.effects())


def _last_uses(region: Region) -> dict[int, int]:
    """The position of the last use of each value; the last op ends the region."""
    return {
        resolve(value).ident: place
        for place, op in enumerate(region.ops)
        for value in op.operands
    }
