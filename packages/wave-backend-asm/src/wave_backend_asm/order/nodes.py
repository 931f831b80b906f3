"""What is ordered, what it costs, and what has to come before what."""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set as AbstractSet
from typing import NamedTuple

Things = frozenset[Hashable]
"""Names of registers and of what else is read and written: memories, conditions."""

NOTHING: Things = frozenset()


class Price(NamedTuple):
    """What an operation costs, in cycles.

    Attributes:
        unit: what executes it; an empty one is never busy.
        issue: until the wave may issue its next operation.
        busy: how long the unit works.
        slack: work that the unit may still have before it.
        latency: from the end of that work until results are there.
        settles: from the next issue until others may read results without a wait state.
        chains: it does not wait for sums of others that chain, to which it adds.
    """

    unit: str = ""
    issue: int = 0
    busy: int = 0
    slack: int = 0
    latency: int = 0
    settles: int = 0
    chains: bool = False

    @property
    def wait(self) -> int:
        """What its results are waited for, if there is anything to wait for."""
        return self.busy + self.latency if self.latency else 0


class Node(NamedTuple):
    """One operation, or several that stay together.

    Attributes:
        reads: what it reads.
        writes: what it writes.
        price: of all of it.
        adds: what of `reads` it adds to.
        lands: what of `writes` nobody waits for here: a wait says that it is there.
    """

    reads: Things
    writes: Things
    price: Price
    adds: Things = NOTHING
    lands: Things = NOTHING


class Needs(NamedTuple):
    """What has to come before a node.

    Attributes:
        results: numbers of those whose results it waits for.
        others: numbers of those that it follows at once.
    """

    results: AbstractSet[int]
    others: AbstractSet[int]


def needs_of(nodes: Sequence[Node]) -> list[Needs]:
    """Who writes goes before who reads, and who reads before who writes again."""
    writers: dict[Hashable, int] = {}
    readers: dict[Hashable, list[int]] = {}
    found: list[Needs] = []
    for number, node in enumerate(nodes):
        made: set[int] = set()
        follows: set[int] = set()
        for each in node.reads:
            if each in writers:
                landing = each in nodes[writers[each]].lands
                (follows if landing else made).add(writers[each])
        for each in node.writes:
            follows.update(readers.pop(each, ()))
            if each in writers:
                follows.add(writers[each])
        if node.price.chains:
            chained = _chained(node, nodes, writers)
            made -= chained
            follows |= chained
        found.append(Needs(made, follows - made if follows else follows))
        for each in node.reads - node.writes:
            readers.setdefault(each, []).append(number)
        for each in node.writes:
            writers[each] = number
    return found


def _chained(
    node: Node, nodes: Sequence[Node], writers: dict[Hashable, int]
) -> set[int]:
    """Who makes sums that a node adds to without a wait."""
    others = {writers[each] for each in node.reads - node.adds if each in writers}
    sums = {writers[each] for each in node.adds if each in writers}
    return {each for each in sums - others if nodes[each].price.chains}


def remaining(nodes: Sequence[Node], needs: Sequence[Needs]) -> list[int]:
    """Cycles of waiting from each node to the end, on the longest way.

    What the issue of operations takes does not count: among those that nobody waits
    for, the order that was given is as good as any.
    """
    left = [node.price.wait for node in nodes]
    for second in reversed(range(len(nodes))):
        for first in needs[second].results:
            left[first] = max(left[first], nodes[first].price.wait + left[second])
        for first in needs[second].others:
            left[first] = max(left[first], left[second])
    return left
