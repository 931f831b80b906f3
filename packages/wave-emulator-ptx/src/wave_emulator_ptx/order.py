"""In which order parts of a kernel come: what its ways lead to is after them.

The text does not say: compilers put the place where ways meet wherever a branch is
saved. Threads that are furthest back in this order go first, so that those of a warp
meet again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.loops import ordered
from wave_emulator_ptx.syntax import Instruction, Name

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Ints

ENDS = frozenset({"ret", "exit"})


def ranks(body: Sequence[Instruction], labels: Mapping[str, int]) -> Ints:
    """The place of each instruction in the order, and last that of the end."""
    starts = _starts(body, labels)
    ends = dict(pairwise([*starts, len(body)]))
    edges = {start: _leads(body, labels, ends[start]) for start in starts}
    found = np.zeros(len(body) + 1, np.int64)
    rank = 0
    for start in ordered(starts, edges):
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
