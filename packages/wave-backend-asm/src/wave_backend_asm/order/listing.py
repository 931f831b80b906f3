"""The order of operations between two fixed points.

What results are waited for longest goes first, among operations whose operands are
there. Nothing goes first that would make more vector registers live than there may be,
while something else can. Where that still needs more than the order that was given and
than there are, the order that was given stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wave_backend_asm.allocate.liveness import Bits, backwards
from wave_backend_asm.code import Block, Operation

Latency = Callable[[Operation], int]
"""Cycles from the issue of an operation until its results are there."""

Ordered = Callable[[Operation, Operation], bool]
"""Whether two operations have to stay as they are for another reason than values."""


@dataclass(frozen=True)
class Region:
    """Operations without a fixed point between them.

    Attributes:
        operations: in the order that was given.
        behind: bits of what is live behind them.
        bits: places of values.
    """

    operations: tuple[Operation, ...]
    behind: int
    bits: Bits

    @classmethod
    def alone(cls, operations: Sequence[Operation], behind: int = 0) -> Region:
        """Operations that are all of a program."""
        found = tuple(operations)
        return cls(found, behind, Bits.of([Block(found)]))

    @property
    def vectors(self) -> int:
        """The bits of vector registers."""
        return sum(
            ((1 << value.width) - 1) << at
            for value, at in self.bits.first.items()
            if value.files[0] != "s"
        )

    def peak(self, operations: Sequence[Operation]) -> int:
        """Vector registers that are live at once in some order."""
        vectors = self.vectors
        return max(
            (
                ((live | each.defined) & vectors).bit_count()
                for each, live in backwards(self.bits.touched(operations), self.behind)
            ),
            default=0,
        )


def dependences(region: Region, ordered: Ordered) -> list[set[int]]:
    """By operation: numbers of those that have to come before it."""
    ops = region.operations
    touched = region.bits.touched(ops)
    writes, reads = [t.defined for t in touched], [t.used for t in touched]
    return [
        {
            first
            for first in range(second)
            if writes[first] & (reads[second] | writes[second])
            or reads[first] & writes[second]
            or ordered(ops[first], ops[second])
        }
        for second in range(len(ops))
    ]


def schedule(
    region: Region, latency: Latency, ordered: Ordered, vectors: int
) -> list[Operation]:
    """A better order of the operations of a region.

    Args:
        region: the operations.
        latency: of each.
        ordered: what else has to stay in order: accesses of the same memory.
        vectors: vector registers that may be live at once.
    """
    needs = dependences(region, ordered)
    costs = [latency(each) for each in region.operations]
    numbers = _chosen(region, needs, costs, vectors)
    found = [region.operations[number] for number in numbers]
    allowed = max(vectors, region.peak(region.operations))
    if region.peak(found) > allowed:
        return list(region.operations)
    given = makespan(range(len(costs)), needs, costs)
    better = makespan(numbers, needs, costs) < given
    return found if better else list(region.operations)


def makespan(
    numbers: Sequence[int], needs: Sequence[set[int]], costs: Sequence[int]
) -> int:
    """Cycles of an order in which one operation a cycle begins, when it can."""
    done: dict[int, int] = {}
    clock = 0
    for number in numbers:
        clock = max([clock, *(done[each] for each in needs[number])])
        done[number] = clock + costs[number]
        clock += 1
    return max(done.values(), default=0)


def _remaining(needs: Sequence[set[int]], costs: Sequence[int]) -> list[int]:
    """Cycles from the issue of each operation to the end, at the least."""
    left = list(costs)
    for second in reversed(range(len(needs))):
        for first in needs[second]:
            left[first] = max(left[first], costs[first] + left[second])
    return left


def _chosen(
    region: Region, needs: Sequence[set[int]], costs: Sequence[int], vectors: int
) -> list[int]:
    left, live = _remaining(needs, costs), _Live(region)
    waiting = list(range(len(costs)))
    done: dict[int, int] = {}
    clock = 0
    while waiting:
        ready = [n for n in waiting if needs[n] <= done.keys()]
        fits = [n for n in ready if live.with_(n) <= vectors] or ready
        starts = {n: max([clock, *(done[each] for each in needs[n])]) for n in fits}
        chosen = min(fits, key=lambda n: (starts[n], -left[n], n))
        clock = starts[chosen] + 1
        done[chosen] = starts[chosen] + costs[chosen]
        waiting.remove(chosen)
        live.issue(chosen)
    return list(done)


class _Live:
    """Vector registers that are live behind what was chosen so far."""

    def __init__(self, region: Region) -> None:
        self._reads = [region.bits.parts(each.uses) for each in region.operations]
        self._writes = [region.bits.parts(each.defines) for each in region.operations]
        self._behind, self._vectors = region.behind, region.vectors
        self._left = set(range(len(self._reads)))
        self._live = next(reversed(_lives(region)), region.behind)

    def with_(self, number: int) -> int:
        """Registers that are live when one more operation is chosen."""
        return ((self._live | self._writes[number]) & self._vectors).bit_count()

    def issue(self, number: int) -> None:
        """It is chosen; what nobody reads any more is no longer live."""
        self._left.discard(number)
        wanted = self._behind
        for each in self._left:
            wanted |= self._reads[each]
        self._live = (self._live | self._writes[number]) & wanted


def _lives(region: Region) -> list[int]:
    """What is live in front of each operation, the last one first."""
    live, found = region.behind, list[int]()
    for each in reversed(region.operations):
        live = live & ~region.bits.parts(each.defines) | region.bits.parts(each.uses)
        found.append(live)
    return found
