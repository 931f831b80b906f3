"""Matrix products of small floats whose blocks of 32 share a scale: MXFP4, 6 and 8."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.staging import ADDRESS_SPACE, STAGING

if TYPE_CHECKING:
    from wave_core.types import DType

M = tkl.sym.M
N = tkl.sym.N
K = tkl.sym.K
BLOCK_M = tkl.sym.BLOCK_M
BLOCK_N = tkl.sym.BLOCK_N
BLOCK_K = tkl.sym.BLOCK_K
WAVES_M = tkl.sym.WAVES_M
WAVES_N = tkl.sym.WAVES_N

BLOCK = 32
"""Elements along K that share a scale."""

TILES = tkw.Tunable(
    (BLOCK_M, BLOCK_N, BLOCK_K, WAVES_M, WAVES_N),
    (
        (128, 128, 128, 2, 2),
        (256, 256, 256, 2, 2),
        (256, 256, 128, 2, 2),
        (128, 128, 256, 2, 2),
        (128, 64, 256, 2, 2),
        (64, 64, 256, 2, 2),
    ),
)

FEW = tkw.Tunable((BLOCK_M, BLOCK_N, WAVES_M, WAVES_N), ((64, 64, 2, 2),))


def gemm_mxfp_kernel(
    dtype: DType = tkl.f4e2m1fn,
    result: DType = tkl.f32,
    mma_type: tkl.ScaledMMAType | None = None,
) -> Any:
    """``c[m, n] = sum_k (a[m, k] s[m, k/32]) (b[n, k] t[n, k/32])``; sums in f32.

    Elements are packed as OCP Microscaling Formats 1.0 says, the first in the lowest
    bits; scales are powers of two, f8e8m0fnu. Targets that multiply scaled operands
    take them as they are; for the others there is `gemm_mxfp_by_blocks_kernel`.

    Shapes: ``a: [M, K * bits / 8]``, ``s: [M, K / 32]``, ``b`` and ``t`` the same with
    ``N`` rows, ``c: [M, N]``. Dtypes: i8, that is bytes, for all but ``c``, which has
    ``result``. Symbols to bind: ``M``, ``N`` and ``K``, a multiple of 32. Tiles, counts
    of waves and ``ADDRESS_SPACE`` are open. Raises: WV0702 for a target without the
    instruction.
    """
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / WAVES_M),
        tkw.WaveConstraint(N, BLOCK_N / WAVES_N),
        tkw.HardwareConstraint(mma_type=mma_type),
        tkw.DieOrder(),
        TILES,
        STAGING,
    ]
    row, blocks = K * dtype.bits / 8, K / BLOCK

    @tkw.wave(constraints)
    def gemm_mxfp(
        a: tkl.Memory[M, row, ADDRESS_SPACE, tkl.i8],
        s: tkl.Memory[M, blocks, ADDRESS_SPACE, tkl.i8],
        b: tkl.Memory[N, row, ADDRESS_SPACE, tkl.i8],
        t: tkl.Memory[N, blocks, ADDRESS_SPACE, tkl.i8],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, result],
    ) -> None:
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def total(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.scaled_mma(
                tkw.bitcast(tkw.read(a), dtype),
                tkw.bitcast(tkw.read(s), tkl.f8e8m0fnu),
                tkw.bitcast(tkw.read(b), dtype),
                tkw.bitcast(tkw.read(t), tkl.f8e8m0fnu),
                acc,
            )

        tkw.write(total if result == tkl.f32 else tkw.cast(total, result), c)

    return gemm_mxfp


def gemm_mxfp_by_blocks_kernel(
    dtype: DType = tkl.f4e2m1fn, result: DType = tkl.f32
) -> Any:
    """What `gemm_mxfp_kernel` computes, on targets without scaled products.

    Blocks are multiplied one after the other in f16, which holds all elements exactly,
    and each product in f32 by both scales: much slower, and every target has it. What
    two scales make together is a number of f32, or it is infinite or 0.

    Shapes, dtypes and symbols: as there, but for ``BLOCK_K`` and ``ADDRESS_SPACE``.
    """
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK),
        tkw.WaveConstraint(M, BLOCK_M / WAVES_M),
        tkw.WaveConstraint(N, BLOCK_N / WAVES_N),
        tkw.HardwareConstraint(),
        tkw.DieOrder(),
        FEW,
    ]
    row, blocks = K * dtype.bits / 8, K / BLOCK

    def factor(scales: Any) -> Any:
        """The only scale of a row, over all of the tile."""
        number = tkw.cast(tkw.bitcast(tkw.read(scales), tkl.f8e8m0fnu), tkl.f32)
        return tkw.broadcast(tkw.max(number, dim=blocks), target_shape=[M, N])

    @tkw.wave(constraints)
    def gemm_mxfp(
        a: tkl.Memory[M, row, tkl.GLOBAL_ADDRESS_SPACE, tkl.i8],
        s: tkl.Memory[M, blocks, tkl.GLOBAL_ADDRESS_SPACE, tkl.i8],
        b: tkl.Memory[N, row, tkl.GLOBAL_ADDRESS_SPACE, tkl.i8],
        t: tkl.Memory[N, blocks, tkl.GLOBAL_ADDRESS_SPACE, tkl.i8],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, result],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def total(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            x, y = (tkw.cast(tkw.bitcast(tkw.read(e), dtype), tkl.f16) for e in (a, b))
            return acc + tkw.mma(x, y, zero) * (factor(s) * factor(t))

        tkw.write(total if result == tkl.f32 else tkw.cast(total, result), c)

    return gemm_mxfp
