"""Matrix product: the kernel of the tutorial."""

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

TILES = tkw.Tunable(
    (BLOCK_M, BLOCK_N, BLOCK_K, WAVES_M, WAVES_N),
    (
        (128, 128, 32, 2, 2),
        (256, 256, 32, 2, 4),
        (256, 256, 64, 2, 4),
        (128, 256, 64, 2, 2),
        (256, 128, 32, 4, 2),
        (128, 128, 64, 2, 2),
        (128, 64, 64, 2, 2),
        (64, 64, 64, 2, 2),
    ),
)


def gemm_kernel(
    dtype: DType = tkl.f16,
    mma_type: tkl.MMAType | None = None,
) -> Any:
    """``c[m, n] = sum_k a[m, k] * b[n, k]``; sums in f32.

    Shapes: ``a: [M, K]``, ``b: [N, K]``, ``c: [M, N]``. Dtypes: ``a`` and ``b``
    ``dtype``, ``c`` f32. Symbols to bind: ``M``, ``N`` and ``K``, which may be dynamic.
    Tiles, counts of waves and ``ADDRESS_SPACE`` are open.
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

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, dtype],
        b: tkl.Memory[N, K, ADDRESS_SPACE, dtype],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            a_reg = tkw.read(a)
            b_reg = tkw.read(b)
            return tkw.mma(a_reg, b_reg, acc)

        tkw.write(repeat, c)

    return gemm
