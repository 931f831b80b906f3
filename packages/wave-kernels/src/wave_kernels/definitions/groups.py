"""Rows that belong to groups, one group behind the other, in tiles of one group each.

Where groups start is read from memory: nobody knows their sizes when the kernel is
launched. A tile begins at the first row of a group, or a whole number of tiles behind
it, and what it has beyond the group's end is not written. The tiles of group g are
numbered from ``starts[g] // BLOCK_M + g`` on: a group of n rows has ``ceil(n /
BLOCK_M)`` tiles, and so many numbers at least, whatever the row where it begins. Each
workgroup finds its group by that formula, all groups at once, and a number that no tile
has costs nothing but this.
"""

# Kernels are written in Wave: symbols as types and sizes.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.products import BLOCK_K, BLOCK_M, K, M

E = tkl.sym.E
"""Groups."""

ENDS = tkl.sym.ENDS
"""One more than there are groups."""

GROUP, FIRST, LEFT = tkl.sym.GROUP, tkl.sym.FIRST, tkl.sym.LEFT
"""The group of a workgroup, the first row of its tile, and the rows from there on."""

END = FIRST + LEFT
"""Where the group of a workgroup ends."""


def _first(_: Any) -> Any:
    """Where a workgroup's tile begins, whatever its number."""
    return FIRST


ROWS = {"apply_fn": _first, "iters": M // BLOCK_M + E}
"""The workgroups' constraint of ``M``, beside the size of its tile."""

DEPTH = sympy.Min(1, sympy.Max(0, LEFT)) * sympy.ceiling(K / BLOCK_K)
"""Tiles of ``K``: none where the tile has no row.

Of one symbol, so that a compiler that takes it for large sees the whole loop.
"""

IN_REACH = 32
"""Lanes that shuffle with each other on every target."""

STARTS = tkl.Memory[ENDS, tkl.GLOBAL_ADDRESS_SPACE, tkl.i32]


def starts_of(dim: Any) -> Any:
    """Where each part of ``dim`` starts, and an end."""
    return tkl.Memory[dim + 1, tkl.GLOBAL_ADDRESS_SPACE, tkl.i32]


def enter_group(starts: Any, groups: int) -> None:
    """Set ``GROUP``, ``FIRST`` and ``LEFT`` of the workgroup.

    So many lanes hold all ``groups`` as shuffle with each other on every target: then
    it is plain that all waves of a workgroup find the same.
    """
    each = 1 << (max(groups - 1, 0) // IN_REACH).bit_length()
    start, end = (_ends(starts, offset, each) for offset in (0, 1))
    number = tkw.scalar(tkw.WORKGROUP_0, tkl.i32)
    rows = tkw.scalar(BLOCK_M, tkl.i32)
    place = tkw.self_index(E, tkl.i32)
    none, one = (tkl.Register[E, tkl.i32](each) for each in (0, 1))
    begun = start // rows + place <= number
    over = end // rows + place + 1 <= number
    group = tkw.sum(tkw.select(over, one, none), dim=E)
    own = tkw.max(tkw.select(begun, start, none), dim=E)
    first = own + (number - own // rows - group) * rows
    tkw.set_symbol(GROUP, group)
    tkw.set_symbol(FIRST, first)
    tkw.set_symbol(LEFT, tkw.max(tkw.select(begun, end, none), dim=E) - first)


def _ends(starts: Any, offset: int, each: int) -> Any:
    """Of each group, where it starts, or where the one behind it does."""
    place = tkw.IndexMapping.iterator(0)
    found = tkw.IndexMapping(1, inputs={ENDS: place + offset}, outputs={E: place})
    return tkw.read(starts, elements_per_thread=each, mapping=found)


def enter_part(starts: Any, dim: Any, first: Any, count: Any, sharing: Any = 1) -> None:
    """Set where the part of a workgroup starts, and how many rows it has.

    ``dim`` counts parts, of which a workgroup has one; ``sharing`` neighbours have the
    same.
    """
    (ends,), place = starts.type.shape, tkw.IndexMapping.iterator(0)
    at = place // sharing
    start, end = (
        tkw.read(starts, mapping=tkw.IndexMapping(1, {ends: at + i}, {dim: place}))
        for i in range(2)
    )
    tkw.set_symbol(first, start)
    tkw.set_symbol(count, end - start)
