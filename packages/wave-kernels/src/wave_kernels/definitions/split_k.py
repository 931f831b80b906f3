"""Split-K matrix product: several workgroups share a tile, each sums a part of K.

All but the last of them leave their sums in ``parts`` and count themselves in
``arrived``; the last one waits for these, adds them up in their order and writes the
result, which has the same bits in each run. ``arrived`` is 0 before and after a launch.
"""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportOperatorIssue=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.staging import ADDRESS_SPACE, STAGING

if TYPE_CHECKING:
    from collections.abc import Sequence

M = tkl.sym.M
N = tkl.sym.N
K = tkl.sym.K
BLOCK_M = tkl.sym.BLOCK_M
BLOCK_N = tkl.sym.BLOCK_N
BLOCK_K = tkl.sym.BLOCK_K
WAVES_M = tkl.sym.WAVES_M
WAVES_N = tkl.sym.WAVES_N
SPLIT = tkl.sym.SPLIT
PARTS = tkl.sym.PARTS
ROWS = tkl.sym.ROWS
COLUMNS = tkl.sym.COLUMNS
ONE = tkl.sym.ONE
SEEN = tkl.sym.SEEN
OTHER = tkl.sym.OTHER
X, Y, Z = tkw.WORKGROUP_0, tkw.WORKGROUP_1, tkw.WORKGROUP_2
VOLATILE = tkw.MemoryAccessFlags.VOLATILE

DEPTH = (K + BLOCK_K * SPLIT - 1) // (BLOCK_K * SPLIT) * BLOCK_K
"""Elements along K that a workgroup sums: whole tiles."""
LAST = (K + DEPTH - 1) // DEPTH - 1
"""The workgroup of a tile that adds up what the others leave."""

_I, _J = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
_TILE = {M: _I, N: _J}
_COUNT = {ROWS: X, COLUMNS: Y}
MY_PART = tkw.IndexMapping(2, inputs=_TILE, outputs={PARTS: Z} | _TILE)
FOUR = tuple(
    tkw.IndexMapping(2, inputs={PARTS: OTHER + each} | _TILE, outputs=_TILE)
    for each in range(4)
)
"""What this many workgroups leave, fetched at the same time."""
TO_COUNT = tkw.IndexMapping(1, inputs={ONE: _I}, outputs=_COUNT)
COUNT = tkw.IndexMapping(1, inputs=_COUNT, outputs={ONE: _I})


SYMBOLS = (SPLIT, BLOCK_M, BLOCK_N, BLOCK_K, WAVES_M, WAVES_N)

TILES = (
    (64, 64, 64, 2, 2),
    (16, 64, 128, 1, 4),
    (128, 64, 64, 2, 2),
    (128, 128, 64, 2, 2),
)

WAYS = tuple((split, *tile) for split in (2, 4, 8, 16, 32) for tile in TILES)
"""Values of `SYMBOLS`."""


def _doubled(way: Sequence[int]) -> tuple[int, ...]:
    """The same with twice the waves, of half the lanes."""
    *tile, waves_m, waves_n = way
    return (*tile, waves_m, waves_n * 2)


def split_k_kernel(ways: Sequence[Sequence[int]] = WAYS) -> Any:
    """``c[m, n] = sum_k a[m, k] * b[n, k]`` by up to ``SPLIT`` workgroups a tile.

    A workgroup waits for those of its tile that come before it in the grid: there may
    be no more of them than the GPU holds at once, one a compute unit.

    Shapes: ``a: [M, K]``, ``b: [N, K]``, ``parts: [PARTS, M, N]``,
    ``arrived: [ROWS, COLUMNS]``, ``c: [M, N]``. Dtypes: ``a`` and ``b`` f16,
    ``arrived`` i32, the others f32. To bind: ``M``, ``N`` and ``K``; ``PARTS``, at
    least ``SPLIT - 1``; ``ROWS`` and ``COLUMNS``, at least as many as there are tiles;
    ``ONE`` to 1. Staging is open, and so are ``SPLIT``, tiles and counts of waves: one
    of ``ways``.
    """
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WorkgroupConstraint(K, DEPTH, 2),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / WAVES_M),
        tkw.WaveConstraint(N, BLOCK_N / WAVES_N),
        tkw.HardwareConstraint(),
        tkw.Tunable(
            SYMBOLS, tuple(map(tuple, ways)), narrow=tuple(map(_doubled, ways))
        ),
        STAGING,
    ]

    @tkw.wave(constraints)
    def gemm_split_k(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        parts: tkl.Memory[PARTS, M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
        arrived: tkl.Memory[ROWS, COLUMNS, tkl.GLOBAL_ADDRESS_SPACE, tkl.i32],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def own(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        @tkw.conditional(Z < LAST)
        def contribute() -> None:
            tkw.write(own, parts, mapping=MY_PART)
            one = tkl.Register[ONE, tkl.i32](1)
            tkw.atomic_add(one, arrived, mapping=TO_COUNT, order="release")

        @tkw.conditional(Z >= LAST)
        def finish() -> None:
            @tkw.iterate(
                condition=tkw.GET_ITER_ARG(0) < LAST, init_args=[tkw.scalar(0, tkl.i32)]
            )
            def wait(_: Any) -> Any:
                seen = tkw.read(arrived, mapping=COUNT, flags=VOLATILE)
                tkw.set_symbol(SEEN, seen)
                return tkw.scalar(SEEN, tkl.i32)

            tkw.fence("acquire")
            none = tkl.Register[ONE, tkl.i32](0)
            tkw.write(none, arrived, mapping=TO_COUNT, flags=VOLATILE)

            @tkw.iterate(OTHER, start=0, condition=OTHER + 3 < LAST, init_args=[own])
            def most(acc: tkl.Register[M, N, tkl.f32]) -> Any:
                for part in [tkw.read(parts, mapping=each) for each in FOUR]:
                    acc = acc + part
                tkw.set_symbol(OTHER, OTHER + 4)
                return acc

            @tkw.iterate(
                OTHER, start=LAST // 4 * 4, condition=OTHER < LAST, init_args=[most]
            )
            def total(acc: tkl.Register[M, N, tkl.f32]) -> Any:
                acc = acc + tkw.read(parts, mapping=FOUR[0])
                tkw.set_symbol(OTHER, OTHER + 1)
                return acc

            tkw.write(total, c)

    return gemm_split_k
