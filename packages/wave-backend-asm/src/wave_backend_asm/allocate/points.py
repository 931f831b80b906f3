"""The points of a program as the leaves of a tree, so that many are few nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from wave_backend_asm.allocate.ranges import Span

_BITS = 3
"""A node stands for 8 of those below it."""


class Cover(NamedTuple):
    """Nodes of the tree that stand for some points.

    Attributes:
        inside: what lies below these are the points, and nothing else.
        above: these have one of `inside` below them, or are or lie below one.
    """

    inside: tuple[int, ...]
    above: tuple[int, ...]


class Points:
    """The tree: level by level, the points first.

    Attributes:
        nodes: numbers of nodes are lower than this.
    """

    def __init__(self, count: int) -> None:
        self._known: dict[Span, Cover] = {}
        self._ways: dict[int, tuple[int, ...]] = {}
        self._levels: list[int] = []
        self.nodes = 0
        while count:
            self._levels.append(self.nodes)
            self.nodes += count
            count = -(-count >> _BITS) if count > 1 else 0

    def cover(self, span: Span) -> Cover:
        """The nodes of some points."""
        found = self._known.get(span)
        if found is None:
            inside: list[int] = []
            above: set[int] = set()
            for first, last in span:
                inside += self._inside(first, last + 1)
                above.update(self._way(first >> _BITS), self._way(last >> _BITS))
            found = self._known[span] = Cover((*inside,), (*above,))
        return found

    def _way(self, parent: int) -> tuple[int, ...]:
        """The nodes from one of those over points up to the root."""
        found = self._ways.get(parent)
        if found is None:
            rows = enumerate(self._levels[1:])
            ways = [start + (parent >> level * _BITS) for level, start in rows]
            found = self._ways[parent] = (*ways,)
        return found

    def _inside(self, low: int, high: int) -> list[int]:
        """The fewest nodes that stand for a row of points."""
        found: list[int] = []
        for start in self._levels:
            left, right = -(-low >> _BITS), high >> _BITS
            if left >= right:
                return [*found, *range(start + low, start + high)]
            # Whole nodes of the next level lie between.
            found += range(start + low, start + (left << _BITS))
            found += range(start + (right << _BITS), start + high)
            low, high = left, right
        return found


class Held:
    """The registers of one file, as bits, that are held at each point."""

    def __init__(self, points: Points) -> None:
        """None is."""
        self._throughout = [0] * points.nodes
        self._somewhere = [0] * points.nodes

    def during(self, cover: Cover) -> int:
        """What is held at one of some points, at the least."""
        inside, above = cover
        throughout, somewhere, found = self._throughout, self._somewhere, 0
        for node in inside:
            found |= somewhere[node]
        for node in above:
            found |= throughout[node]
        return found

    def hold(self, cover: Cover, bits: int) -> None:
        """Hold registers at some points."""
        inside, above = cover
        throughout, somewhere = self._throughout, self._somewhere
        for node in inside:
            throughout[node] |= bits
            somewhere[node] |= bits
        for node in above:
            somewhere[node] |= bits
