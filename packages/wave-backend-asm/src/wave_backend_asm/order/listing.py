"""The order of operations between two fixed points.

What results are waited for longest goes first, as soon as its operands are there and
its unit takes it; among the others the order stays that was given. Nothing goes first
that would make more registers live than there may be, while something else can. An
order that still needs more than that and than the one that was given, or that takes as
long, is not taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from wave_backend_asm.order.nodes import Needs, Node, needs_of, remaining
from wave_backend_asm.order.room import Limits, Region, Room, peak


def schedule(region: Region, limits: Limits) -> list[int]:
    """A better order of the nodes of a region, by their numbers.

    Args:
        region: the nodes.
        limits: registers that may be live at once.
    """
    given = [*range(len(region.nodes))]
    needs = needs_of(region.nodes)
    found = _Choice(region, needs, limits).order()
    if found == given or _cycles(region, needs, found) >= _cycles(region, needs, given):
        return given
    allowed = limits.at_least(peak(region, given))
    return found if allowed.hold(peak(region, found)) else given


def cycles(region: Region, order: Sequence[int]) -> int:
    """Cycles until all results are there, if nodes are issued in some order."""
    return _cycles(region, needs_of(region.nodes), order)


def _cycles(region: Region, needs: Sequence[Needs], order: Sequence[int]) -> int:
    clock = _Clock(region.nodes, needs)
    for number in order:
        clock.issue(number)
    return max(clock.done.values(), default=0)


class _Clock:
    """When nodes begin that are issued one after the other."""

    def __init__(self, nodes: Sequence[Node], needs: Sequence[Needs]) -> None:
        self._nodes, self._needs = nodes, needs
        self._free: defaultdict[str, int] = defaultdict(int)
        self.now = 0
        self.done: dict[int, int] = {}

    def ready(self, number: int) -> int:
        """When the operands of a node are there."""
        return max([self.done[each] for each in self._needs[number].results], default=0)

    def opens(self, number: int) -> int:
        """When its unit takes a node."""
        price = self._nodes[number].price
        return self._free[price.unit] - price.slack if price.unit else 0

    def issue(self, number: int) -> None:
        """Issue a node as soon as it may be."""
        price = self._nodes[number].price
        start = max(self.now, self.ready(number), self.opens(number))
        end = max(start, self._free[price.unit]) + price.busy
        if price.unit:
            self._free[price.unit] = end
        self.now = start + price.issue
        self.done[number] = max(end + price.latency, self.now + price.settles)


class _Choice:
    """Chooses nodes one after the other."""

    def __init__(self, region: Region, needs: Sequence[Needs], limits: Limits) -> None:
        self._nodes, self._limits = region.nodes, limits
        self._clock = _Clock(region.nodes, needs)
        self._room = Room(region)
        self._left = remaining(region.nodes, needs)
        self._missing = [len(each.results) + len(each.others) for each in needs]
        self._following: list[list[int]] = [[] for _ in needs]
        for number, (results, others) in enumerate(needs):
            for each in (*results, *others):
                self._following[each].append(number)
        # Those whose operands come later, by when; those that wait for nothing but
        # their unit, by that; and those that would make too much live.
        self._later: list[tuple[int, int]] = []
        self._open: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._held: list[int] = []
        for number, missing in enumerate(self._missing):
            if not missing:
                heappush(self._later, (0, number))

    def order(self) -> list[int]:
        """All nodes in the order in which they are chosen."""
        return [self._next() for _ in self._nodes]

    def _next(self) -> int:
        """Choose one, and let those go on that only it has kept back."""
        number = self._chosen()
        self._clock.issue(number)
        if self._room.take(self._nodes[number]):
            for each in self._held:
                self._offer(each)
            self._held.clear()
        for each in self._following[number]:
            self._missing[each] -= 1
            if not self._missing[each]:
                heappush(self._later, (self._clock.ready(each), each))
        return number

    def _offer(self, number: int) -> None:
        unit = self._nodes[number].price.unit
        heappush(self._open[unit], (-self._left[number], number))

    def _chosen(self) -> int:
        """What fits and is waited for longest, of those that can begin first."""
        now = self._clock.now
        while True:
            while self._later and self._later[0][0] <= now:
                self._offer(heappop(self._later)[1])
            rows = [*self._fitting()]
            starts = [max(now, self._clock.opens(row[1])) for row in rows]
            if now in starts:
                pairs = zip(rows, starts, strict=True)
                number = min(row for row, start in pairs if start == now)[1]
                heappop(self._open[self._nodes[number].price.unit])
                return number
            if self._later:
                starts.append(self._later[0][0])
            if not starts:
                return self._least()
            now = min(starts)

    def _fitting(self) -> Iterator[tuple[int, int]]:
        """Of each unit, the first of those that fit; others are held back."""
        for heap in self._open.values():
            while heap:
                number = heap[0][1]
                growth = self._room.growth(self._nodes[number])
                if self._room.fits(growth, self._limits):
                    yield heap[0]
                    break
                self._held.append(heappop(heap)[1])

    def _least(self) -> int:
        """Where nothing fits: what makes the least live, the first of it."""
        grows = {n: sum(self._room.growth(self._nodes[n])) for n in self._held}
        number = min(self._held, key=lambda each: (grows[each], each))
        self._held.remove(number)
        return number
