"""Loops of a graph of basic blocks, within each other.

Source: Ramalingam, Identifying Loops in Almost Linear Time, 1999, after Havlak and
Tarjan: one walk through the graph finds edges that lead back; then the blocks between
such an edge's ends become one with the block where it ends, innermost loops first. An
edge between two branches of the walk counts from the block on where these part, and is
followed once, however deep loops are and however many ways lead into them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

Edges = Mapping[int, frozenset[int]]
"""Where each basic block leads; blocks are known by their first instructions."""


def ordered(blocks: Sequence[int], edges: Edges) -> list[int]:
    """Blocks after those that lead to them; those of a loop before what follows it.

    A loop begins with the block where the walk from the first block enters it. Blocks
    of one loop, each with the loop that it begins, come in the order in which the walk
    left them last: what one of them leads to was left before it.
    """
    walk = _Walk(blocks, edges)
    head = _heads(walk)
    inside: dict[int | None, list[int]] = defaultdict(list)
    for at in walk.left:  # the stack below turns this around
        inside[head.get(at)].append(at)
    found: list[int] = []
    rest = inside[None]
    while rest:
        at = rest.pop()
        found.append(at)
        rest += inside[at]
    return found


class _Merged:
    """Sets of blocks, each known by one of its own."""

    def __init__(self, blocks: Iterable[int]) -> None:
        self._parent = {each: each for each in blocks}

    def of(self, block: int) -> int:
        """The block by which the set is known; the way to it gets shorter."""
        parent = self._parent
        while parent[block] != block:
            parent[block] = parent[parent[block]]
            block = parent[block]
        return block

    def merge(self, block: int, into: int) -> None:
        """A set, known by this block, becomes a part of another one."""
        self._parent[block] = into


class _Walk:
    """A walk that goes as deep as it can before it turns back.

    Attributes:
        entered: blocks in the order of entering them.
        left: in that of leaving them for the last time.
        parent: from where each was entered.
        back: by block those from which an edge leads back to it.
        between: other edges, by the block where the ways to their ends part.
    """

    def __init__(self, blocks: Sequence[int], edges: Edges) -> None:
        self.entered: list[int] = []
        self.left: list[int] = []
        self.parent: dict[int, int] = {}
        self.back: dict[int, list[int]] = defaultdict(list)
        self.between: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._edges = edges
        self._seen: set[int] = set()
        self._under_way: set[int] = set()
        self._done = _Merged(blocks)
        for at in blocks:
            if at not in self._seen:
                self._from(at)

    def _from(self, start: int) -> None:
        way = [self._enter(start)]
        while way:
            at, targets = way[-1]
            further = next((t for t in targets if self._is_new(at, t)), None)
            if further is None:
                way.pop()
                self._leave(at)
            else:
                self.parent[further] = at
                way.append(self._enter(further))

    def _enter(self, at: int) -> tuple[int, Iterator[int]]:
        """Later blocks first: so that the earlier ones are left last."""
        self._seen.add(at)
        self._under_way.add(at)
        self.entered.append(at)
        return at, iter(sorted(self._edges[at], reverse=True))

    def _leave(self, at: int) -> None:
        self._under_way.remove(at)
        self.left.append(at)
        if at in self.parent:
            self._done.merge(at, self.parent[at])

    def _is_new(self, at: int, target: int) -> bool:
        """Whether an edge leads to a block not seen before; others are noted."""
        if target not in self._seen:
            return True
        if target in self._under_way:
            self.back[target].append(at)
            return False
        parting = self._done.of(target)
        if parting in self._under_way:  # else no way leads from the target back
            self.between[parting].append((at, target))
        return False


def _heads(walk: _Walk) -> dict[int, int]:
    """The block with which the loop around a block begins, where there is one."""
    head: dict[int, int] = {}
    merged = _Merged(walk.entered)
    before = {at: [parent] for at, parent in walk.parent.items()}
    for first in reversed(walk.entered):
        for at, target in walk.between[first]:
            before[merged.of(target)].append(at)
        for each in _loop(first, walk.back[first], before, merged):
            head[each] = first
            merged.merge(each, first)
    return head


def _loop(
    first: int, ends: Iterable[int], before: Mapping[int, list[int]], merged: _Merged
) -> set[int]:
    """What leads to the ends of edges back to a block, without leaving it again."""
    found: set[int] = set()
    rest = [merged.of(each) for each in ends]
    while rest:
        at = rest.pop()
        if at != first and at not in found:
            found.add(at)
            rest += [merged.of(each) for each in before[at]]
    return found
