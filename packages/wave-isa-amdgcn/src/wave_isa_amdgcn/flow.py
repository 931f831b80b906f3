"""Which blocks of code may follow which, and the loops among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Edges = Sequence[Sequence[int]]


def reached(edges: Edges, start: int, without: int | None = None) -> set[int]:
    """The blocks that ways from ``start`` lead to, past a block that is left out."""
    found: set[int] = set()
    waiting = [start]
    while waiting:
        block = waiting.pop()
        if block != without and block not in found:
            found.add(block)
            waiting += edges[block]
    return found


def find_loops(edges: Edges) -> dict[int, set[int]]:
    """The blocks of each loop, by the block where it begins.

    An edge closes a loop where it leads to a block that is on every way to it. Blocks
    are numbered in the order of the code, and code begins with the first, if there is
    any. What nothing leads to is in no loop.
    """
    begun = sorted(reached(edges, 0)) if edges else []
    before: list[list[int]] = [[] for _ in edges]
    for block in begun:
        for following in edges[block]:
            before[following].append(block)
    loops: dict[int, set[int]] = {}
    for tail in begun:
        for head in edges[tail]:
            if tail not in reached(edges, 0, without=head):
                body = loops.setdefault(head, {head})
                body |= reached(before, tail, without=head)
    return loops
