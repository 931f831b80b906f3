"""Which accesses of shared memory depend on which, and over how many iterations.

An access depends on an earlier one where both touch a byte and one of them writes
it. Everything is derived from the access rows: nothing is stored. What cannot be
decided counts as a dependence.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import gcd, lcm
from typing import TYPE_CHECKING

import numpy as np

from wave_core.analysis.dependences.footprint import (
    NOBODY,
    SEVERAL,
    Columns,
    Footprint,
    Footprints,
    Patterns,
)
from wave_core.analysis.dependences.storage import AddressRange, address_range
from wave_core.analysis.loops import (
    counter_ranges,
    enclosing_loops,
    induction_range,
)
from wave_core.ir import region_of
from wave_core.ops.control import Iterate, Loop, While
from wave_core.symbols import Expr, Kind, as_expr, constant, symbol

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.footprint import Owners
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph, Region
    from wave_core.ops.memory import Allocate
    from wave_core.symbols import Facts

_ZERO = constant(0)

CASES = 64
"""Most combinations of remainders of induction values that are told apart."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Which threads of two accesses touch a byte in common.

    Attributes:
        lane: Some lane touches a byte in both.
        wave: Two lanes of one wave touch one byte.
        group: Two waves of a workgroup touch one byte.
    """

    lane: bool = False
    wave: bool = False
    group: bool = False

    def __bool__(self) -> bool:
        """Whether any threads do."""
        return self.lane or self.wave or self.group

    def __or__(self, other: Reach) -> Reach:
        """The union of both."""
        return Reach(
            self.lane or other.lane,
            self.wave or other.wave,
            self.group or other.group,
        )


NOWHERE = Reach()


class Meetings:
    """What pairs of patterns of threads have in common.

    That is the same however a graph changes, as long as its geometry does not.

    Attributes:
        patterns: The patterns.
        known: Which threads meet, by the two patterns and how far apart they lie.
    """

    def __init__(self, geometry: Geometry) -> None:
        """Of the threads of ``geometry``; nothing is known."""
        self.patterns = Patterns(geometry)
        self.known: dict[object, Reach] = {}


class Dependences:
    """Answers which threads of two accesses meet; remembers answers."""

    def __init__(
        self, graph: Graph, geometry: Geometry, meetings: Meetings | None = None
    ) -> None:
        """Answer for ``graph`` as it is now; ``geometry`` is its own.

        ``meetings`` are what others have found by the same geometry.
        """
        self.geometry = geometry
        self._graph = graph
        self._meetings = meetings or Meetings(geometry)
        self._footprints = Footprints(graph, self._meetings.patterns)
        self._loops: dict[Region, tuple[Iterate, ...]] = {}
        self._shifted: dict[object, tuple[Expr, ...]] = {}
        self._places: dict[SharedAccess, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._answers: dict[object, Reach] = {}
        self._periods: dict[tuple[Expr, Expr | None], int | None] = {}
        self._ranges: dict[Allocate, AddressRange | None] = {}
        self._facts: Facts | None = None
        waves = self._meetings.patterns.wave_count
        self._unknown = Reach(lane=True, wave=True, group=waves > 1)

    def footprint(self, access: SharedAccess) -> Footprint:
        """The footprint of one access."""
        return self._footprints.of(access)

    def trips_surely(self, loop: Iterate) -> bool:
        """Whether the loop has an iteration whatever the launch."""
        if loop.count is None:
            return False
        return self.geometry.facts.prove_nonnegative(self._count(loop) - 1)

    def most_trips(self, loop: Loop) -> int | None:
        """The number of iterations, where it is known."""
        if isinstance(loop, While):
            return None
        count = None if loop.count is None else self._count(loop)
        return count.constant_value if count is not None and count.is_constant else None

    def _count(self, loop: Iterate) -> Expr:
        assert loop.count is not None, "checked by the caller"
        return as_expr(loop.count).subs(self._graph.bindings)

    @property
    def single_wave(self) -> bool:
        """Whether a workgroup has one wave only."""
        return not self._unknown.group

    def moves(self, access: SharedAccess, loop: Loop) -> bool:
        """Whether what the access touches differs from iteration to iteration.

        Bases have no symbol that a while loop sets: what it moves counts as touching
        its whole buffer.
        """
        base = self.footprint(access).base
        return isinstance(loop, Iterate) and loop.induction in base.free_symbols

    def families(self, accesses: Sequence[SharedAccess]) -> list[list[SharedAccess]]:
        """The accesses by memory: those of different lists never meet."""
        found: list[list[SharedAccess]] = []
        packed: list[tuple[AddressRange, Allocate]] = []
        by_buffer: dict[Allocate, list[SharedAccess]] = {}
        for access in accesses:
            by_buffer.setdefault(access.buffer, []).append(access)
        for buffer, own in by_buffer.items():
            where = self._range(buffer)
            if where is None:
                found.append(own)
            else:
                packed.append((where, buffer))
        end = 0
        for where, buffer in sorted(packed, key=lambda row: row[0].start):
            if where.start >= end:
                found.append([])
            found[-1] += by_buffer[buffer]
            end = max(end, where.end)
        ordered = [sorted(family, key=lambda a: a.order) for family in found]
        return sorted(ordered, key=lambda family: family[0].order)

    def reach(
        self,
        source: SharedAccess,
        sink: SharedAccess,
        carrier: Loop | None = None,
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
        # By what decides: copies and reads of many tiles differ in their ops alone.
        key = (self._place(source), self._place(sink), carrier, distance)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = self._reach(source, sink, carrier, distance)
        return found

    def _place(self, access: SharedAccess) -> int:
        """A number for what decides whom it meets: bytes, their owners, loops."""
        found = self._places.get(access)
        if found is None:
            own = self.footprint(access)
            row = own.base, own.low, own.unit, id(own.owners), region_of(access.op)
            found = self._numbers.setdefault(row, len(self._numbers))
            self._places[access] = found
        return found

    def reach_beyond(
        self, source: SharedAccess, sink: SharedAccess, carrier: Loop
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
        self, source: SharedAccess, sink: SharedAccess, carrier: Loop
    ) -> range | None:
        """Distances from 2 that stand for all; ``None`` for too many."""
        if isinstance(carrier, While):
            return range(2, 3)
        trips = self.most_trips(carrier)
        period = 1
        for access in (source, sink):
            own = self._period(self.footprint(access).base, carrier.induction)
            if own is None:
                return range(2, trips) if trips and trips <= CASES else None
            period = lcm(period, own)
        last = period + 2
        return range(2, last if trips is None else min(last, trips))

    def _period(self, base: Expr, induction: Expr | None) -> int | None:
        """As `_period`, which many accesses ask alike."""
        key = base, induction
        if key not in self._periods:
            self._periods[key] = _period(base, induction)
        return self._periods[key]

    def likeness(self, access: SharedAccess) -> Hashable:
        """A key of accesses at one place that depend on, and are needed by, the same.

        They stand in one region, and touch the same bytes by the same threads.
        """
        own, buffer = self.footprint(access), access.buffer
        where = self._range(buffer) or buffer
        bytes_ = (own.base, own.low, own.unit, id(own.owners), own.exact)
        return access.kind, region_of(access.op), where, bytes_

    def _range(self, buffer: Allocate) -> AddressRange | None:
        """The bytes of a packed buffer."""
        if buffer not in self._ranges:
            self._ranges[buffer] = address_range(buffer, self._graph.bindings)
        return self._ranges[buffer]

    def _share(self, one: SharedAccess, other: SharedAccess) -> bool:
        if one.buffer is other.buffer:
            return True
        first, second = self._range(one.buffer), self._range(other.buffer)
        return first is not None and second is not None and first.meets(second)

    def _reach(
        self,
        source: SharedAccess,
        sink: SharedAccess,
        carrier: Loop | None,
        distance: int,
    ) -> Reach:
        first, second = self.footprint(source), self.footprint(sink)
        found = NOWHERE
        for shift in self._shifts(source, sink, carrier, distance):
            reach = self._at_shift(first, second, shift)
            found = found | reach if found else reach
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
        known = self._meetings.known
        found = known.get(key)
        if found is None:
            found = known[key] = self._meeting(first, second, shift.constant_value)
        return found

    def _meeting(self, first: Footprint, second: Footprint, shift: int) -> Reach:
        """Who meets where the second pattern lies ``shift`` bytes further."""
        low = second.low + shift
        unit = gcd(first.unit, second.unit, low - first.low)
        start = max(first.low, low)
        end = min(first.high, second.high + shift)
        if start >= end:
            return NOWHERE
        here = slice((start - first.low) // unit, (end - first.low) // unit)
        there = slice((start - low) // unit, (end - low) // unit)
        one = self._columns(first, unit).within(here)
        two = self._columns(second, unit).within(there)
        group, same = one.meet(two)
        if not same:
            return Reach(group=group)
        return _lanes(one.owners, two.owners, group=group)

    def _columns(self, footprint: Footprint, unit: int) -> Columns:
        """Those of a pattern, which many footprints share."""
        key = id(footprint.owners), footprint.unit, unit
        columns = self._meetings.patterns.columns
        found = columns.get(key)
        if found is None:
            found = columns[key] = Columns.of(footprint, unit)
        return found

    def _apart(self, first: Footprint, second: Footprint, shift: Expr) -> bool:
        """Whether the second pattern is always beyond the first one."""
        bounds = self._induction_facts().bounds(shift)
        above = bounds.lo is not None and second.low + bounds.lo >= first.high
        below = bounds.hi is not None and second.high + bounds.hi <= first.low
        return above or below

    def _induction_facts(self) -> Facts:
        """Facts that hold wherever accesses stand, also where a loop does not run."""
        if self._facts is None:
            facts, bind = self.geometry.facts, self.geometry.bind
            loops = [op for op in self._graph.walk() if isinstance(op, Iterate)]
            ranges = counter_ranges(loops, bind, facts)
            changing = {each.induction for each in loops if not self._ends_stay(each)}
            for name in ranges.keys() - changing:
                for each in (name, _of("a", name), _of("b", name)):
                    facts = facts.with_range(each, *ranges[name])
            self._facts = facts
        return self._facts

    def _ends_stay(self, loop: Iterate) -> bool:
        """Bounds that change from place to place say nothing about two places."""
        values = induction_range(loop, self.geometry.bind)
        return values is not None and all(map(self._footprints.steady, values[1:]))

    def _shifts(
        self,
        source: SharedAccess,
        sink: SharedAccess,
        carrier: Loop | None,
        distance: int,
    ) -> tuple[Expr, ...]:
        """How much further the second pattern lies than the first: all cases."""
        first, second = self.footprint(source).base, self.footprint(sink).base
        if first is second is _ZERO:
            return (_ZERO,)
        outer, inner = region_of(source.op), region_of(sink.op)
        key = (first, second, outer, inner, carrier, distance)
        found = self._shifted.get(key)
        if found is None:
            ends = (first, self._loops_of(outer)), (second, self._loops_of(inner))
            # Most iterations that are paired lie equally far apart.
            cases = dict.fromkeys(self._shift_cases(*ends, carrier, distance))
            found = self._shifted[key] = tuple(cases)
        return found

    def _shift_cases(
        self,
        source: tuple[Expr, tuple[Iterate, ...]],
        sink: tuple[Expr, tuple[Iterate, ...]],
        carrier: Loop | None,
        distance: int,
    ) -> Iterator[Expr]:
        """The same from the base and the loops of each side."""
        (first, outer), (second, inner) = source, sink
        held = [loop for loop in outer if loop in inner]
        if carrier is not None:
            around = list(region_of(carrier).around)
            held = [loop for loop in held if loop in around]
        renamed = second.subs(_renaming(inner, [*held, carrier], "b"))
        if isinstance(carrier, Iterate) and carrier.induction is not None:
            ahead = carrier.induction + distance * carrier.step
            renamed = renamed.subs({carrier.induction: ahead})
        shift = renamed - first.subs(_renaming(outer, [*held, carrier], "a"))
        return _cases(shift, self._values(outer, inner, carrier, distance))

    def _values(
        self,
        outer: tuple[Iterate, ...],
        inner: tuple[Iterate, ...],
        carrier: Loop | None,
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

    def _loops_of(self, region: Region) -> tuple[Iterate, ...]:
        found = self._loops.get(region)
        if found is None:
            loops = tuple(reversed(enclosing_loops(region)))
            found = self._loops[region] = loops
        return found


def _of(side: str, induction: Expr) -> Expr:
    """An induction value of an iteration of its own."""
    return symbol(f"${side}:{induction.name}", induction.nonnegative)


def _renaming(
    loops: tuple[Iterate, ...], held: Sequence[Loop | None], side: str
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
    if len(choices) == 1:
        name = choices[0][0]
        few = _of_remainders(shift, name, values.get(name), divisors.get(name, 1))
        if few is not None:
            yield from few
            return
    names = [name for name, _ in choices]
    for case in product(*[options for _, options in choices]):
        yield shift.subs(dict(zip(names, case, strict=True)))


def _of_remainders(
    shift: Expr, name: Expr, values: range | None, by: int
) -> list[Expr] | None:
    """The values of ``shift`` where the remainder of one symbol decides them.

    ``None`` where it does not, or where not every remainder is among ``values``.
    """
    if values is None or len(values) <= by or gcd(values.step, by) != 1:
        return None
    found: list[Expr] = []
    for rest in range(by):
        found.append(shift.subs({name: name * by + rest}))
        if not found[-1].is_constant:
            return None
    return found


def _period(base: Expr, induction: Expr | None) -> int | None:
    """After how many iterations a base is the same again; ``None`` for never."""
    if induction is None or induction not in base.free_symbols:
        return 1
    divisors: dict[Expr, int] = {}
    _divisors(base, divisors)
    period = divisors.get(induction, 1)
    moved = base.subs({induction: induction + period}) - base
    same = moved.is_constant and moved.constant_value == 0
    return period if same and period <= CASES else None


def _lanes(mine: Owners, other: Owners, *, group: bool) -> Reach:
    """Who meets among the lanes of each wave, by who touches each column."""
    both = (mine != NOBODY) & (other != NOBODY)
    differ = both & ((mine != other) | (mine == SEVERAL))
    same = both & ((mine == other) | (mine == SEVERAL) | (other == SEVERAL))
    same_lane, other_lane = map(np.count_nonzero, (same, differ))
    return Reach(bool(same_lane), bool(other_lane), group)
