"""How attention spreads: its sizes, its tiles, what lies where in memory."""

# Kernels are written in Wave: symbols as types and sizes.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw

if TYPE_CHECKING:
    from collections.abc import Mapping

B = tkl.sym.B
H = tkl.sym.H
KVH = tkl.sym.KVH
"""Heads of keys and values, where they are fewer than those of queries."""

M = tkl.sym.M
N = tkl.sym.N
K1 = tkl.sym.K1
K2 = tkl.sym.K2
BLOCK_B = tkl.sym.BLOCK_B
BLOCK_H = tkl.sym.BLOCK_H
BLOCK_M = tkl.sym.BLOCK_M
BLOCK_N = tkl.sym.BLOCK_N
BLOCK_K2 = tkl.sym.BLOCK_K2
WAVES_M = tkl.sym.WAVES_M
MMA_ROWS = tkl.sym.MMA_ROWS
DK, DN = tkl.sym.DK, tkl.sym.DN
"""`K1` and `N` once more, where gradients have as rows what products sum over."""

QUERY_SPACE = tkl.sym.QUERY_SPACE
"""Queries stay the same: in registers, unless products read them in LDS."""

_HELD, _IN_LDS = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE

TILES = tkw.Tunable(
    (BLOCK_M, BLOCK_N, BLOCK_K2, WAVES_M, MMA_ROWS, QUERY_SPACE),
    (
        (128, 64, 32, 4, 16, _HELD),
        (128, 64, 32, 4, 32, _HELD),
        (128, 128, 32, 4, 32, _HELD),
        (128, 64, 64, 4, 32, _HELD),
        (128, 128, 64, 4, 32, _HELD),
        (256, 64, 32, 8, 32, _HELD),
        (64, 64, 32, 2, 32, _HELD),
    ),
    narrow=(
        (128, 64, 32, 4, 16, _HELD),
        (128, 64, 64, 4, 16, _HELD),
        (128, 128, 64, 8, 16, _HELD),
        (64, 128, 64, 4, 16, _HELD),
        (64, 64, 32, 2, 16, _HELD),
        (128, 64, 64, 2, 64, _IN_LDS),
        (128, 64, 128, 2, 64, _IN_LDS),
        (128, 128, 64, 2, 64, _IN_LDS),
        (128, 128, 96, 2, 64, _IN_LDS),
    ),
)

ROOM = 1 << 20
"""Rows that a loop has room for whose number comes with the launch, or from memory."""

AT_ONCE = 256
"""Workgroups: most chips run fewer at a time, of this size."""

_BLOCKS = {B: BLOCK_B, H: BLOCK_H}
_CHANNELS = {DK: K1, DN: N}


def spread(
    lead: tuple[Any, ...],
    mma_type: tkl.MMAType | None,
    *left_open: tkw.Tunable,
    growing: bool = False,
    **seen: Any,
) -> list[Any]:
    """The constraints of attention over independent ``lead``, each a workgroup axis.

    Args:
        lead: Of every result: the batch, or the batch and heads.
        mma_type: Of the product with values.
        left_open: Tiles, and what else whoever compiles may choose.
        growing: Whether later rows see more keys, so that theirs begin first.
        seen: ``start`` and ``iters`` of the loop over keys, where it leaves some out.
    """
    return [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        *(tkw.WorkgroupConstraint(d, _BLOCKS[d], 2 + i) for i, d in enumerate(lead)),
        tkw.TilingConstraint(K2, BLOCK_K2, **seen),
        tkw.WaveConstraint(M, BLOCK_M / WAVES_M),
        tkw.WaveConstraint(N, BLOCK_N / 1),
        tkw.HardwareConstraint(
            mma_type=mma_type,
            mma_rows=MMA_ROWS,
            vector_shapes=dict.fromkeys(lead, 0),
        ),
        tkw.DieOrder(),
        *(_longest_first(lead) if growing else ()),
        *left_open,
        tkw.FastMath(maxima_drop_nan=True),
    ]


def _longest_first(lead: tuple[Any, ...]) -> list[tkw.ReorderingConstraint]:
    """Workgroups with most keys begin first, so that all end at about the same time.

    That would be the last rows of all batch entries and heads, then those before: at
    any time keys of all of them would be in use, and no cache holds these. So it is of
    a few heads, just enough for `AT_ONCE` workgroups, and then of the next ones.
    """
    tiles = _at_least_one(M, BLOCK_M)
    counts = [_at_least_one(dim, _BLOCKS[dim]) for dim in lead]
    places = (tkw.WORKGROUP_2, tkw.WORKGROUP_3)[: len(lead)]
    head = sum(place * prod(counts[:i]) for i, place in enumerate(places))
    count = prod(counts)
    # As many heads in each part as in any other, or one more.
    parts = sympy.Max(count // sympy.ceiling(AT_ONCE / tiles), 1)
    part = ((head + 1) * parts - 1) // count
    first = part * count // parts
    few = (part + 1) * count // parts - first
    place = tkw.WORKGROUP_0 + tiles * (head - first)
    found, left = {0: tiles - 1 - place // few}, first + place % few
    for axis, count in enumerate(counts[:-1], 2):
        found[axis], left = left % count, left // count
    found[1 + len(lead)] = left
    return [tkw.ReorderingConstraint(expr, axis) for axis, expr in found.items()]


def _at_least_one(dim: Any, tile: Any) -> Any:
    """How many tiles a dim has; where it has none, none is looked at."""
    return sympy.Max(sympy.ceiling(dim / tile), 1)


def mapping(
    *dims: Any,
    to: tuple[Any, ...],
    written: bool = False,
    group: int = 1,
    parts: Mapping[Any, tuple[Any, Any]] = MappingProxyType({}),
) -> tkw.IndexMapping:
    """A memory with dims ``to`` read, or ``written``, as a register with ``dims``.

    ``group`` heads of the register share one of the memory, where it has `KVH`; its
    `DK` and `DN` are `K1` and `N` of the memory. ``parts`` has, for a dim of the memory
    of which the register's is a part, that one, and where it begins.
    """
    register = {d: tkw.IndexMapping.iterator(i) for i, d in enumerate(dims)}
    named = {_CHANNELS.get(d, d): at for d, at in register.items()}
    named |= {d: named[of] + at for d, (of, at) in parts.items() if of in named}
    memory = {d: named[H] // group if d == KVH else named[d] for d in to}
    sides = (register, memory) if written else (memory, register)
    return tkw.IndexMapping(len(dims), *sides)
