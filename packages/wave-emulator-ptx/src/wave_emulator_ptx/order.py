"""In which order parts of a kernel come: what its ways lead to is after them.

The text does not say: compilers put the place where ways meet wherever a branch is
saved. Threads that are furthest back in this order go first, so that those of a warp
meet again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.syntax import Instruction, Name

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Ints

ENDS = frozenset({"ret", "exit"})

Edges = Mapping[int, frozenset[int]]
"""Where each basic block leads; blocks are known by their first instructions."""


def ranks(body: Sequence[Instruction], labels: Mapping[str, int]) -> Ints:
    """The place of each instruction in the order, and last that of the end."""
    starts = _starts(body, labels)
    ends = dict(pairwise([*starts, len(body)]))
    edges = {start: _leads(body, labels, ends[start]) for start in starts}
    found = np.zeros(len(body) + 1, np.int64)
    rank = 0
    for start in _ordered(starts, edges):
        for place in range(start, ends[start]):
            found[place] = rank
            rank += 1
    found[len(body)] = rank
    return found


def _starts(body: Sequence[Instruction], labels: Mapping[str, int]) -> list[int]:
    behind = {at + 1 for at, each in enumerate(body) if each.opcode in {"bra", *ENDS}}
    return sorted(at for at in {0, *labels.values(), *behind} if at < len(body))


def _leads(
    body: Sequence[Instruction], labels: Mapping[str, int], end: int
) -> frozenset[int]:
    """Where the block that ends before ``end`` leads."""
    last, found = body[end - 1], set[int]()
    if last.opcode == "bra":
        target = last.operands[0]
        if isinstance(target, Name) and target.text in labels:
            found.add(labels[target.text])
    if last.guard is not None or last.opcode not in {"bra", *ENDS}:
        found.add(end)
    return frozenset(at for at in found if at < len(body))


def _ordered(blocks: Iterable[int], edges: Edges) -> list[int]:
    """Blocks after those that lead to them; those of a loop before what follows it."""
    found: list[int] = []
    within = [(iter(_loops(blocks, edges)), edges)]
    while within:
        loops, edges = within[-1]
        loop = next(loops, None)
        if loop is None:
            within.pop()
        elif len(loop) == 1:
            found += loop
        else:
            head = _head(loop, edges)
            inside = {at: edges[at] & loop - {head} for at in loop}
            within.append((iter(_loops(loop, inside)), inside))
    return found


def _head(loop: set[int], edges: Edges) -> int:
    """The block of a loop that is entered from outside."""
    outside = (targets for at, targets in edges.items() if at not in loop)
    entered = {target for targets in outside for target in targets & loop}
    return min(entered or loop)


def _loops(blocks: Iterable[int], edges: Edges) -> list[set[int]]:
    """Sets of blocks that lead to each other, after those that lead to them.

    Kosaraju's algorithm: blocks in order of how late they are left, each with those
    that reach it.
    """
    reverse: dict[int, set[int]] = {at: set() for at in blocks}
    for at in reverse:
        for target in edges[at] & reverse.keys():
            reverse[target].add(at)
    seen: set[int] = set()
    left = [each for at in sorted(reverse) for each in _walk(at, edges, reverse, seen)]
    seen, found = set[int](), list[set[int]]()
    for at in reversed(left):
        reached = set(_walk(at, reverse, reverse, seen))
        if reached:
            found.append(reached)
    return found


def _walk(
    start: int,
    edges: Mapping[int, Iterable[int]],
    within: Mapping[int, object],
    seen: set[int],
) -> list[int]:
    """Blocks that are reached and not seen before, in the order of leaving them."""
    if start in seen:
        return []
    seen.add(start)
    found: list[int] = []
    way = [(start, iter(sorted(edges[start], reverse=True)))]
    while way:
        at, targets = way[-1]
        further = next((t for t in targets if t in within and t not in seen), None)
        if further is None:
            way.pop()
            found.append(at)
        else:
            seen.add(further)
            way.append((further, iter(sorted(edges[further], reverse=True))))
    return found
