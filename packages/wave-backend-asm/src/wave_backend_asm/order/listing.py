"""The order of operations between two fixed points.

What results are waited for longest goes first, as soon as its operands are there and
its unit takes it; among the others the order stays that was given. Nothing goes first
that would make more registers live than there may be, while something else can. An
order that still needs more than that and than the one that was given, or that takes as
long, is not taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from wave_backend_asm.order.nodes import needs_of, remaining
from wave_backend_asm.order.room import Limits, Region, Room, Uses

_NEVER = 1 << 62
"""Cycles that no order takes, and places that no node has."""


class Listing:
    """Orders of the nodes of a region, for more registers or less."""

    def __init__(self, region: Region) -> None:
        """What is the same for all of them is found once."""
        self._ways, self._uses = _Ways(region), Uses(region)
        self._given = [*range(len(region.nodes))]
        self._found: dict[tuple[Limits, int], list[int]] = {}
        self._lacks: set[Limits] = set()

    def lacks(self, limits: Limits) -> bool:
        """Whether no order was found that has enough vector registers of some room."""
        return limits in self._lacks

    def within(self, limits: Limits, spare: int = 0) -> list[int]:
        """A better order than the one that was given, by numbers of nodes.

        Args:
            limits: registers that may be live at once.
            spare: scalars among them that are taken only where they save time.
        """
        key = limits, spare
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._made(limits, spare)
        return found

    def _made(self, limits: Limits, spare: int) -> list[int]:
        choice = _Choice(self._ways, self._uses, limits)
        found = choice.order()
        if choice.room.peak.scalars > limits.scalars - spare:
            fewer = limits._replace(scalars=limits.scalars - spare)
            other = _Choice(self._ways, self._uses, fewer)
            order = other.order()
            if other.clock.end <= choice.clock.end:
                choice, found = other, order
        allowed, needed = limits.at_least(self._peak), choice.room.peak
        if not allowed.hold(needed):
            # Where scalars are few, waves less do not make them more.
            if needed.lanes > allowed.lanes or needed.vectors > allowed.vectors:
                self._lacks.add(limits)
            return self._given
        return found if choice.clock.end < self._cycles else self._given

    def cycles(self, order: Iterable[int]) -> int:
        """Cycles until all results are there, if nodes are issued in some order."""
        clock = _Clock(self._ways)
        for number in order:
            clock.issue(number)
        return clock.end

    def peak(self, order: Iterable[int]) -> Limits:
        """How many registers are live at once in some order, at the most."""
        room = Room(self._uses)
        for number in order:
            room.take(number)
        return room.peak

    @cached_property
    def _cycles(self) -> int:
        return self.cycles(self._given)

    @cached_property
    def _peak(self) -> Limits:
        return self.peak(self._given)


class _Cost(NamedTuple):
    """A price, with the number of its unit; that of none is 0."""

    unit: int
    issue: int
    busy: int
    slack: int
    latency: int
    settles: int


class _Ways:
    """Which nodes wait for which, for how long and for which unit.

    Attributes:
        costs: of each node.
        units: how many there are.
        missing: how many nodes have to come before each.
        waiting: who waits for the results of each.
        following: who comes behind each, waiting for it or not.
        places: of each node among all, if the longest wait goes first.
        ranked: the nodes by these places.
        starts: when each can begin, by what was on its way in front of all of them.
    """

    def __init__(self, region: Region) -> None:
        nodes, self.starts = region.nodes, region.starts
        needs, count = needs_of(nodes), len(nodes)
        numbers = {"": 0}
        units = [numbers.setdefault(n.price.unit, len(numbers)) for n in nodes]
        pairs = zip(units, nodes, strict=True)
        self.costs = [_Cost(unit, *node.price[1:6]) for unit, node in pairs]
        self.units = len(numbers)
        self.missing = [len(each.results) + len(each.others) for each in needs]
        self.waiting: list[list[int]] = [[] for _ in nodes]
        self.following: list[list[int]] = [[] for _ in nodes]
        for number, (results, others) in enumerate(needs):
            for each in results:
                self.waiting[each].append(number)
                self.following[each].append(number)
            for each in others:
                self.following[each].append(number)
        left = remaining(nodes, needs)
        self.ranked = sorted(range(count), key=lambda number: (-left[number], number))
        self.places = [0] * count
        for place, number in enumerate(self.ranked):
            self.places[number] = place


class _Clock:
    """When nodes begin that are issued one after the other.

    Attributes:
        now: when the next one may be issued.
        ready: when the operands of each are there, as far as they are issued.
        end: when all results are there.
    """

    def __init__(self, ways: _Ways) -> None:
        self._costs, self._waiting = ways.costs, ways.waiting
        self._free = [0] * ways.units
        self.now, self.end = 0, 0
        self.ready = [*ways.starts]

    def opens(self, number: int) -> int:
        """When its unit takes a node."""
        cost = self._costs[number]
        return self._free[cost.unit] - cost.slack

    def issue(self, number: int) -> None:
        """Issue a node as soon as it may be."""
        unit, issue, busy, slack, latency, settles = self._costs[number]
        free, ready = self._free[unit], self.ready
        start = max(self.now, ready[number], free - slack)
        end = max(start, free) + busy
        if unit:
            self._free[unit] = end
        self.now = start + issue
        done = max(end + latency, self.now + settles)
        self.end = max(self.end, done)
        for each in self._waiting[number]:
            ready[each] = max(ready[each], done)


class _Choice:
    """Chooses nodes one after the other.

    Attributes:
        clock: when they begin.
        room: what is live.
    """

    def __init__(self, ways: _Ways, uses: Uses, limits: Limits) -> None:
        self._ways, self._limits = ways, limits
        self.clock, self.room = _Clock(ways), Room(uses)
        self._missing = [*ways.missing]
        # Those whose operands come later, by when; those that wait for nothing but
        # their unit, by places; and those that would make too much live.
        ready = self.clock.ready
        self._later = [(ready[n], n) for n, row in enumerate(ways.missing) if not row]
        heapify(self._later)
        self._open: list[list[int]] = [[] for _ in range(ways.units)]
        self._held: list[int] = []

    def order(self) -> list[int]:
        """All nodes in the order in which they are chosen."""
        return [self._next() for _ in self._missing]

    def _next(self) -> int:
        """Choose one, and let those go on that only it has kept back."""
        number = self._chosen()
        self.clock.issue(number)
        if self.room.take(number) and self._held:
            for each in self._held:
                self._offer(each)
            self._held.clear()
        for each in self._ways.following[number]:
            self._missing[each] -= 1
            if not self._missing[each]:
                heappush(self._later, (self.clock.ready[each], each))
        return number

    def _offer(self, number: int) -> None:
        unit = self._ways.costs[number].unit
        heappush(self._open[unit], self._ways.places[number])

    def _chosen(self) -> int:
        """What fits and is waited for longest, of those that can begin first."""
        now, later = self.clock.now, self._later
        while True:
            while later and later[0][0] <= now:
                self._offer(heappop(later)[1])
            place, soonest = self._first(now)
            if place < _NEVER:
                number = self._ways.ranked[place]
                heappop(self._open[self._ways.costs[number].unit])
                return number
            now = min(soonest, later[0][0]) if later else soonest
            if now == _NEVER:
                return self._least()

    def _first(self, now: int) -> tuple[int, int]:
        """The first place of those that can begin, and when the next of others can."""
        first, soonest = _NEVER, _NEVER
        for heap in self._open:
            if heap and self._fits(heap):
                start = self.clock.opens(self._ways.ranked[heap[0]])
                if start > now:
                    soonest = min(soonest, start)
                else:
                    first = min(first, heap[0])
        return first, soonest

    def _fits(self, heap: list[int]) -> bool:
        """Whether some of a unit fit; those in front of them are held back."""
        while heap:
            number = self._ways.ranked[heap[0]]
            if self.room.fits(number, self._limits):
                return True
            self._held.append(number)
            heappop(heap)
        return False

    def _least(self) -> int:
        """Where nothing fits: what makes the least live, the first of it."""
        growths = {number: self.room.growth(number) for number in self._held}
        number = min(
            growths, key=lambda n: (growths[n].scalars + growths[n].vectors, n)
        )
        self._held.remove(number)
        return number
