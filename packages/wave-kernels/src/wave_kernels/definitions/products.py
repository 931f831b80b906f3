"""What matrix products have in common: layouts, tiles, how they spread, the sums."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import user_error
from wave_kernels.definitions.staging import STAGING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.types import DType

M = tkl.sym.M
N = tkl.sym.N
K = tkl.sym.K
BLOCK_M = tkl.sym.BLOCK_M
BLOCK_N = tkl.sym.BLOCK_N
BLOCK_K = tkl.sym.BLOCK_K
WAVES_M = tkl.sym.WAVES_M
WAVES_N = tkl.sym.WAVES_N

MMA_ROWS = tkl.sym.MMA_ROWS

PARTS = tkl.sym.PARTS
"""Of ``K``, each summed by waves of its own."""

_Rows = tuple[tuple[int, ...], ...]

_TILES = (
    (128, 128, 32, 2, 2, 0),
    (256, 256, 32, 2, 4, 0),
    (256, 256, 64, 2, 4, 0),
    (128, 256, 64, 2, 2, 0),
    (256, 128, 32, 4, 2, 0),
    (128, 128, 64, 2, 2, 0),
    (128, 64, 64, 2, 2, 0),
    (64, 64, 64, 2, 2, 0),
)
"""Of elements of 16 bits and more, by the instruction that the target has for them."""

_FLAT = (
    (16, 64, 64, 1, 4, 0),
    (32, 64, 64, 2, 2, 0),
    (64, 128, 64, 2, 2, 0),
)
"""Where few rows share weights."""

_THIN = (
    (16, 64, 256, 1, 4, 0),
    (16, 64, 128, 1, 4, 0),
    (32, 64, 128, 2, 2, 0),
    (64, 64, 128, 2, 2, 0),
)
"""Where few rows take all the weights from memory: deep, so that many bytes of these
are on their way, and narrow, so that all compute units fetch."""

_THIN_OF_64 = (
    (16, 32, 256, 1, 2, 0),
    (16, 16, 512, 1, 1, 0),
)
"""More of them, for waves of 64 lanes, whose instructions have sixteen columns."""

_THIN_OF_32 = (
    (16, 32, 256, 1, 4, 0),
    (16, 32, 128, 1, 4, 0),
    (32, 32, 256, 1, 4, 0),
    (32, 32, 128, 1, 4, 0),
    (64, 32, 128, 2, 2, 0),
)
"""The same for waves of 32 lanes, whose instructions have eight."""

_IN_PARTS_OF_64 = (
    (16, 16, 128, 1, 1, 0),
    (16, 32, 128, 1, 1, 0),
    (16, 16, 256, 1, 1, 0),
    (32, 32, 128, 1, 1, 0),
)
"""Of each part of ``K``, where waves share what there is of it: narrower still."""

_IN_PARTS_OF_32 = (
    (16, 8, 128, 1, 1, 0),
    (16, 16, 128, 1, 1, 0),
    (16, 16, 64, 1, 1, 0),
    (16, 32, 64, 1, 1, 0),
    (32, 8, 128, 1, 1, 0),
    (32, 16, 64, 1, 1, 0),
)
"""The same for waves of 32 lanes."""

_TALL = (
    (128, 256, 64, 2, 1, 64),
    (256, 128, 64, 2, 1, 64),
    (128, 128, 64, 2, 1, 64),
    (192, 192, 64, 3, 1, 64),
    (256, 192, 64, 2, 1, 64),
    (192, 256, 64, 3, 1, 64),
)
"""By instructions of 64 rows, which four narrow waves work on together."""

LAYOUTS = ("NT", "NN", "TN", "TT")
"""As BLAS says it of rows: ``N`` as in the product, ``T`` transposed; a, then b."""


def tiles(
    dtype: DType, *, flat: bool = False, depth: int = 0, sums: int = 1
) -> tkw.Tunable:
    """Tiles worth a try; twice as deep where an element has one byte.

    Args:
        dtype: Of the operands.
        flat: Whether some have few rows.
        depth: Of all tiles along ``K``, where that is settled.
        sums: How many there are for each element of a tile, which has so many times
            fewer columns: registers hold as many sums as otherwise. Thin ones have few.
    """
    more = max(16 // dtype.bits, 1)

    def shaped(rows: _Rows, fewer: int) -> _Rows:
        return tuple(
            (m, n // fewer, depth or more * k, *rest) for m, n, k, *rest in rows
        )

    usual = shaped((*_TILES, *(_FLAT if flat else ())), sums)
    wide, narrow = ((*_THIN, *rows) for rows in (_THIN_OF_64, _THIN_OF_32))
    return tkw.Tunable(
        (BLOCK_M, BLOCK_N, BLOCK_K, WAVES_M, WAVES_N, MMA_ROWS),
        (*usual, *shaped(wide, 1)),
        narrow=(*usual, *shaped(_TALL, sums), *shaped(narrow, 1)),
    )


def tiles_in_parts(dtype: DType) -> tkw.Tunable:
    """Tiles worth a try where waves share ``K``; deeper of elements of one byte."""
    more = max(16 // dtype.bits, 1)
    wide, narrow = (
        tuple((m, n, more * k, *rest) for m, n, k, *rest in rows)
        for rows in (_IN_PARTS_OF_64, _IN_PARTS_OF_32)
    )
    return tkw.Tunable(
        (BLOCK_M, BLOCK_N, BLOCK_K, WAVES_M, WAVES_N, MMA_ROWS), wide, narrow=narrow
    )


def product_constraints(
    dtype: DType,
    mma_type: tkl.MMAType | None,
    *,
    rows: Mapping[str, Any] | None = None,
    tried: tkw.Tunable | None = None,
    **steps: Any,
) -> list[Any]:
    """How ``[M, N]`` and ``K`` spread over workgroups, waves and loop tiles.

    Args:
        dtype: Of the operands.
        mma_type: The matrix instruction; the target's for the type by default.
        rows: What the workgroups' constraint of ``M`` says beside its tile.
        tried: Tiles; `tiles` of the type by default.
        steps: What the constraint of the loop over ``K`` says beside its tile.
    """
    return [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0, **(rows or {})),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K, **steps),
        tkw.WaveConstraint(M, BLOCK_M / WAVES_M),
        tkw.WaveConstraint(N, BLOCK_N / WAVES_N),
        tkw.HardwareConstraint(mma_type=mma_type, mma_rows=MMA_ROWS),
        tkw.DieOrder(),
        tried or tiles(dtype),
        STAGING,
    ]


def operand_dims(
    layout: str, *, parts: bool = False
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The dims of a and b in memory, slowest first; ``parts`` are those of ``K``.

    Raises:
        UserError: WV0823 for a layout that is none of `LAYOUTS`.
    """
    if layout not in LAYOUTS:
        raise user_error(
            "WV0823",
            f"a matrix product has no layout `{layout}`",
            help=f"it is one of {', '.join(LAYOUTS)}",
        )
    a, b = layout
    depth = (PARTS, K) if parts else (K,)
    lhs = (M, *depth) if a == "N" else (*depth, M)
    return lhs, (*depth, N) if b == "N" else (N, *depth)


def sums_of(dtype: DType) -> DType:
    """In what the products of elements are added up."""
    return tkl.f32 if dtype.is_float else tkl.i32
