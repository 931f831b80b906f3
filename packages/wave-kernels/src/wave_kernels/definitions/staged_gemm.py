"""Matrix product staged through LDS by hand: allocation, copies and barriers."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import wave_core.lang as tkl
import wave_core.lang as tkw

M = tkl.sym.M
N = tkl.sym.N
K = tkl.sym.K
BLOCK_M = tkl.sym.BLOCK_M
BLOCK_N = tkl.sym.BLOCK_N
BLOCK_K = tkl.sym.BLOCK_K


def staged_gemm_kernel() -> Any:
    """``c[m, n] = sum_k a[m, k] * b[n, k]`` with the tiles of a and b in LDS.

    Each wave copies the part of the tile that it needs itself; the barrier before
    the reads makes the copies of the other waves visible, the one after them keeps
    the next iteration from overwriting what is still being read.

    Shapes: ``a: [M, K]``, ``b: [N, K]``, ``c: [M, N]``. Dtypes: f16, ``c`` f32.
    """
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.HardwareConstraint(),
        tkw.DieOrder(),
    ]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        c_reg = tkl.Register[M, N, tkl.f32](0.0)
        a_shared = tkw.allocate((M, K), (BLOCK_M, BLOCK_K), tkl.f16)
        b_shared = tkw.allocate((N, K), (BLOCK_N, BLOCK_K), tkl.f16)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            tkw.write(tkw.read(a), a_shared)
            tkw.write(tkw.read(b), b_shared)
            tkw.shared_memory_barrier()
            a_reg = tkw.read(a_shared)
            b_reg = tkw.read(b_shared)
            acc = tkw.mma(a_reg, b_reg, acc)
            tkw.shared_memory_barrier()
            return acc

        tkw.write(repeat, c)

    return gemm
