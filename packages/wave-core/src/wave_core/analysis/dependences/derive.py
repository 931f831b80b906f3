"""Which accesses of shared memory depend on which, and over how many iterations.

An access depends on an earlier one where both touch a byte and one of them writes
it. Everything is derived from the access rows: nothing is stored. What cannot be
decided counts as a dependence.
"""

from __future__ import annotations

from itertools import product
from math import gcd, lcm
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.footprint import SEVERAL, Footprint, Footprints
from wave_core.analysis.dependences.reach import NOWHERE, Reach
from wave_core.analysis.dependences.storage import share_memory
from wave_core.analysis.loops import enclosing_loops, induction_range
from wave_core.ir import region_of
from wave_core.ops.control import Iterate
from wave_core.symbols import Expr, Kind, as_expr, constant, symbol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph
    from wave_core.ops.memory import Allocate
    from wave_core.symbols import Facts

_ZERO = constant(0)

CASES = 64
"""Most combinations of remainders of induction values that are told apart."""


class Dependences:
    """Answers which threads of two accesses meet; remembers answers."""

    def __init__(self, graph: Graph, geometry: Geometry) -> None:
        """Answer for ``graph`` as it is now; ``geometry`` is its own."""
        self.geometry = geometry
        self._graph = graph
        self._footprints = Footprints(graph, self.geometry)
        self._loops: dict[SharedAccess, tuple[Iterate, ...]] = {}
        self._answers: dict[object, Reach] = {}
        self._met: dict[object, Reach] = {}
        self._sharing: dict[tuple[int, int], bool] = {}
        self._facts: Facts | None = None
        waves = self._footprints.wave_count
        self._unknown = Reach(lane=True, wave=True, group=waves > 1)

    def footprint(self, access: SharedAccess) -> Footprint:
        """The footprint of one access."""
        return self._footprints.of(access)

    def trips_surely(self, loop: Iterate) -> bool:
        """Whether the loop has an iteration whatever the launch."""
        if loop.count is None:
            return False
        return self.geometry.facts.prove_nonnegative(self._count(loop) - 1)

    def most_trips(self, loop: Iterate) -> int | None:
        """The number of iterations, where it is known."""
        count = None if loop.count is None else self._count(loop)
        return count.constant_value if count is not None and count.is_constant else None

    def _count(self, loop: Iterate) -> Expr:
        assert loop.count is not None, "checked by the caller"
        return as_expr(loop.count).subs(self._graph.bindings)

    @property
    def single_wave(self) -> bool:
        """Whether a workgroup has one wave only."""
        return not self._unknown.group

    def moves(self, access: SharedAccess, loop: Iterate) -> bool:
        """Whether what the access touches differs from iteration to iteration."""
        return loop.induction in self.footprint(access).base.free_symbols

    def families(self, accesses: Sequence[SharedAccess]) -> list[list[SharedAccess]]:
        """The accesses by memory: those of different lists never meet."""
        by_buffer: dict[Allocate, list[SharedAccess]] = {}
        for access in accesses:
            by_buffer.setdefault(access.buffer, []).append(access)
        found: list[list[SharedAccess]] = []
        for own in by_buffer.values():
            near = [f for f in found if any(self._share(own[0], o) for o in f)]
            joined = [access for f in near for access in f] + own
            found = [f for f in found if f not in near]
            found.append(sorted(joined, key=lambda a: a.order))
        return found

    def reach(
        self,
        source: SharedAccess,
        sink: SharedAccess,
        carrier: Iterate | None = None,
        distance: int = 0,
    ) -> Reach:
        """Threads of which ``sink`` depends on ``source``.

        Args:
            source: The access that comes first.
            sink: The access that comes later.
            carrier: The loop around both of which ``sink`` is in a later iteration;
                loops around ``carrier`` are in the same iteration.
            distance: How many iterations later.
        """
        if not source.conflicts(sink) or not self._share(source, sink):
            return NOWHERE
        key = (source, sink, carrier, distance)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = self._reach(source, sink, carrier, distance)
        return found

    def reach_beyond(
        self, source: SharedAccess, sink: SharedAccess, carrier: Iterate
    ) -> Reach:
        """Threads of which ``sink`` depends on ``source`` 2 or more iterations ago."""
        if not source.conflicts(sink) or not self._share(source, sink):
            return NOWHERE
        found = NOWHERE
        distances = self._distances(source, sink, carrier)
        if distances is None:
            return self._unknown
        for distance in distances:
            found = found | self.reach(source, sink, carrier, distance)
        return found

    def _distances(
        self, source: SharedAccess, sink: SharedAccess, carrier: Iterate
    ) -> range | None:
        """Distances from 2 that stand for all; ``None`` for too many."""
        trips = self.most_trips(carrier)
        period = 1
        for access in (source, sink):
            own = _period(self.footprint(access).base, carrier.induction)
            if own is None:
                return range(2, trips) if trips and trips <= CASES else None
            period = lcm(period, own)
        last = period + 2
        return range(2, last if trips is None else min(last, trips))

    def _share(self, one: SharedAccess, other: SharedAccess) -> bool:
        if one.buffer is other.buffer:
            return True
        key = (one.buffer.ident, other.buffer.ident)
        found = self._sharing.get(key)
        if found is None:
            found = share_memory(one.buffer, other.buffer, self._graph.bindings)
            self._sharing[key] = found
        return found

    def _reach(
        self,
        source: SharedAccess,
        sink: SharedAccess,
        carrier: Iterate | None,
        distance: int,
    ) -> Reach:
        first, second = self.footprint(source), self.footprint(sink)
        found = NOWHERE
        for shift in self._shifts(source, sink, carrier, distance):
            found = found | self._at_shift(first, second, shift)
            if found == self._unknown:
                break
        return found

    def _at_shift(self, first: Footprint, second: Footprint, shift: Expr) -> Reach:
        if not shift.is_constant:
            return NOWHERE if self._apart(first, second, shift) else self._unknown
        key = (
            id(first.owners),
            id(second.owners),
            first.unit,
            second.unit,
            second.low + shift.constant_value - first.low,
        )
        found = self._met.get(key)
        if found is None:
            found = self._met[key] = meeting(first, second, shift.constant_value)
        return found

    def _apart(self, first: Footprint, second: Footprint, shift: Expr) -> bool:
        """Whether the second pattern is always beyond the first one."""
        bounds = self._induction_facts().bounds(shift)
        above = bounds.lo is not None and second.low + bounds.lo >= first.high
        below = bounds.hi is not None and second.high + bounds.hi <= first.low
        return above or below

    def _induction_facts(self) -> Facts:
        if self._facts is None:
            facts = self.geometry.facts
            loops = [op for op in self._graph.walk() if isinstance(op, Iterate)]
            for values in (induction_range(loop, self.geometry.bind) for loop in loops):
                if values is not None:
                    name, *ends = values
                    for each in (name, _of("a", name), _of("b", name)):
                        facts = facts.with_range(each, *ends)
            self._facts = facts
        return self._facts

    def _shifts(
        self,
        source: SharedAccess,
        sink: SharedAccess,
        carrier: Iterate | None,
        distance: int,
    ) -> Iterator[Expr]:
        """How much further the second pattern lies than the first: all cases."""
        first, second = self.footprint(source).base, self.footprint(sink).base
        if first is second is _ZERO:
            yield _ZERO
            return
        outer, inner = self._loops_of(source), self._loops_of(sink)
        held = [loop for loop in outer if loop in inner]
        if carrier is not None:
            held = held[: held.index(carrier)]
        renamed = second.subs(_renaming(inner, [*held, carrier], "b"))
        if carrier is not None and carrier.induction is not None:
            ahead = carrier.induction + distance * carrier.step
            renamed = renamed.subs({carrier.induction: ahead})
        shift = renamed - first.subs(_renaming(outer, [*held, carrier], "a"))
        yield from _cases(shift, self._values(outer, inner, carrier, distance))

    def _values(
        self,
        outer: tuple[Iterate, ...],
        inner: tuple[Iterate, ...],
        carrier: Iterate | None,
        distance: int,
    ) -> dict[Expr, range]:
        """The values of induction symbols, where these are few and known."""
        found: dict[Expr, range] = {}
        for side, loops in (("a", outer), ("b", inner)):
            for loop in loops:
                trips, start = self.most_trips(loop), as_expr(loop.start)
                if loop.induction is None or trips is None or not start.is_constant:
                    continue
                iterations = max(0, trips - distance if loop is carrier else trips)
                last = start.constant_value + iterations * loop.step
                values = range(start.constant_value, last, loop.step)
                found[loop.induction] = found[_of(side, loop.induction)] = values
        return found

    def _loops_of(self, access: SharedAccess) -> tuple[Iterate, ...]:
        found = self._loops.get(access)
        if found is None:
            found = self._loops[access] = tuple(
                reversed(enclosing_loops(region_of(access.op)))
            )
        return found


def _of(side: str, induction: Expr) -> Expr:
    """An induction value of an iteration of its own."""
    return symbol(f"${side}:{induction.name}", induction.nonnegative)


def _renaming(
    loops: tuple[Iterate, ...], held: list[Iterate | None], side: str
) -> dict[Expr, Expr | int]:
    """New names for the induction values of iterations that need not agree."""
    return {
        loop.induction: _of(side, loop.induction)
        for loop in loops
        if loop.induction is not None and loop not in held
    }


def _divisors(value: Expr, found: dict[Expr, int]) -> None:
    """By symbol, a number that all constants divide by which it is divided."""
    if value.kind is Kind.FLOORDIV and value.args[1].is_constant:
        for name in value.args[0].free_symbols:
            found[name] = lcm(found.get(name, 1), value.args[1].constant_value)
    for arg in value.args:
        _divisors(arg, found)


def _cases(shift: Expr, values: Mapping[Expr, range]) -> Iterator[Expr]:
    """The values of ``shift`` by values or remainders of the symbols in it."""
    divisors: dict[Expr, int] = {}
    if not shift.is_constant:
        _divisors(shift, divisors)
    choices: list[tuple[Expr, list[Expr]]] = []
    count = 1
    for name in shift.free_symbols:
        known, by = values.get(name), divisors.get(name, 1)
        if known is not None and len(known) <= CASES:
            choices.append((name, [constant(value) for value in known]))
        elif by > 1:
            choices.append((name, [name * by + rest for rest in range(by)]))
        else:
            continue
        count *= len(choices[-1][1])
    if not choices or count > CASES:
        yield shift
        return
    names = [name for name, _ in choices]
    for case in product(*[options for _, options in choices]):
        yield shift.subs(dict(zip(names, case, strict=True)))


def _period(base: Expr, induction: Expr | None) -> int | None:
    """After how many turns a base is the same again; ``None`` for never."""
    if induction is None or induction not in base.free_symbols:
        return 1
    divisors: dict[Expr, int] = {}
    _divisors(base, divisors)
    period = divisors.get(induction, 1)
    moved = base.subs({induction: induction + period}) - base
    same = moved.is_constant and moved.constant_value == 0
    return period if same and period <= CASES else None


def meeting(first: Footprint, second: Footprint, shift: int) -> Reach:
    """Who meets where the second pattern lies ``shift`` bytes further."""
    low = second.low + shift
    unit = gcd(first.unit, second.unit, low - first.low)
    one, two = first.finer(unit), second.finer(unit)
    start = max(one.low, low)
    end = min(one.high, two.high + shift)
    if start >= end:
        return NOWHERE
    here = slice((start - one.low) // unit, (end - one.low) // unit)
    there = slice((start - low) // unit, (end - low) // unit)
    both = one.touched[:, here] & two.touched[:, there]
    pairs = one.counts[here] * two.counts[there]
    group = bool((pairs > both.sum(axis=0)).any())
    if not both.any():
        return Reach(group=group)
    mine, other = one.owners[:, here], two.owners[:, there]
    differ = both & ((mine != other) | (mine == SEVERAL))
    same = both & ((mine == other) | (mine == SEVERAL) | (other == SEVERAL))
    return Reach(bool(same.any()), bool(differ.any()), group)
