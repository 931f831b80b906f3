"""Matrix products of small floats whose blocks of 32 share a scale: MXFP4, 6 and 8."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportInvalidTypeForm=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.shuffled import (
    Stored,
    elements_in_blocks,
    scales_in_blocks,
)
from wave_kernels.definitions.staging import ADDRESS_SPACE, STAGING
from wave_kernels.microscaling import BLOCK

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

GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

ORDERS = ("none", "scales", "all")
"""What is stored in the order of lanes: nothing, the scales, or these and ``b``."""

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

ALONG_N = tkw.Tunable(
    TILES.symbols,
    (
        (128, 128, 256, 1, 4),
        (256, 256, 256, 1, 8),
        (256, 256, 256, 1, 4),
        (64, 128, 256, 1, 4),
        (64, 64, 256, 1, 4),
        *TILES.values,
    ),
)
"""For weights that go past LDS: waves side by side, each of which reads its own."""

FEW = tkw.Tunable((BLOCK_M, BLOCK_N, WAVES_M, WAVES_N), ((64, 64, 2, 2),))


@dataclass(frozen=True)
class Operands:
    """How both sides of a product are stored, elements and scales.

    Attributes:
        a: Elements of the left side.
        s: Their scales.
        b: Elements of the right side.
        t: Their scales.
    """

    a: Stored
    s: Stored
    b: Stored
    t: Stored

    @classmethod
    def of(cls, bits: int, shuffled: str) -> Operands:
        """For elements of so many bits, in one of `ORDERS`."""
        row, blocks = K * bits / 8, K / BLOCK
        a, b = Stored((M, row)), Stored((N, row))
        s, t = Stored((M, blocks)), Stored((N, blocks))
        if shuffled != "none":
            s, t = scales_in_blocks(M, K), scales_in_blocks(N, K)
        if shuffled == "all":
            b = elements_in_blocks(N, K, bits)
        return cls(a, s, b, t)


def gemm_mxfp_kernel(
    dtype: DType = tkl.f4e2m1fn,
    result: DType = tkl.f32,
    mma_type: tkl.ScaledMMAType | None = None,
    shuffled: str = "none",
) -> Any:
    """``c[m, n] = sum_k (a[m, k] s[m, k/32]) (b[n, k] t[n, k/32])``; sums in f32.

    Elements are packed as OCP Microscaling Formats 1.0 says, the first in the lowest
    bits; scales are powers of two, f8e8m0fnu. Targets that multiply scaled operands
    take them as they are; for the others there is `gemm_mxfp_by_blocks_kernel`.

    ``shuffled`` is one of `ORDERS`. What is shuffled goes from memory to registers,
    past LDS; `shuffle_scales` and `shuffle_weights` of `wave_kernels.functions` do it.

    Shapes: ``a: [M, K * bits / 8]``, ``s: [M, K / 32]``, ``b`` and ``t`` the same with
    ``N`` rows, or as they are shuffled, ``c: [M, N]``. Dtypes: i8, that is bytes, for
    all but ``c``, which has ``result``. Symbols to bind: ``M``, ``N`` and ``K``, a
    multiple of 32. Tiles, counts of waves and ``ADDRESS_SPACE`` are open. Raises:
    WV0702 for a target without the instruction.
    """
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / WAVES_M),
        tkw.WaveConstraint(N, BLOCK_N / WAVES_N),
        tkw.HardwareConstraint(mma_type=mma_type),
        tkw.DieOrder(),
        ALONG_N if shuffled == "all" else TILES,
        STAGING,
    ]
    stored = Operands.of(dtype.bits, shuffled)

    @tkw.wave(constraints)
    def gemm_mxfp(
        a: stored.a.memory(ADDRESS_SPACE),
        s: stored.s.memory(ADDRESS_SPACE),
        b: stored.b.memory(ADDRESS_SPACE),
        t: stored.t.memory(ADDRESS_SPACE),
        c: tkl.Memory[M, N, GLOBAL, result],
    ) -> None:
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def total(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.scaled_mma(
                tkw.bitcast(tkw.read(a, mapping=stored.a.mapping), dtype),
                tkw.bitcast(tkw.read(s, mapping=stored.s.mapping), tkl.f8e8m0fnu),
                tkw.bitcast(tkw.read(b, mapping=stored.b.mapping), dtype),
                tkw.bitcast(tkw.read(t, mapping=stored.t.mapping), tkl.f8e8m0fnu),
                acc,
            )

        tkw.write(total if result == tkl.f32 else tkw.cast(total, result), c)

    return gemm_mxfp


def gemm_mxfp_by_blocks_kernel(
    dtype: DType = tkl.f4e2m1fn, result: DType = tkl.f32, shuffled: str = "none"
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
    stored = Operands.of(dtype.bits, shuffled)

    def factor(scales: Any) -> Any:
        """The only scale of a row, over all of the tile."""
        number = tkw.cast(tkw.bitcast(scales, tkl.f8e8m0fnu), tkl.f32)
        return tkw.broadcast(tkw.max(number, dim=K / BLOCK), target_shape=[M, N])

    @tkw.wave(constraints)
    def gemm_mxfp(
        a: stored.a.memory(GLOBAL),
        s: stored.s.memory(GLOBAL),
        b: stored.b.memory(GLOBAL),
        t: stored.t.memory(GLOBAL),
        c: tkl.Memory[M, N, GLOBAL, result],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def total(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            left = tkw.bitcast(tkw.read(a, mapping=stored.a.mapping), dtype)
            right = tkw.bitcast(tkw.read(b, mapping=stored.b.mapping), dtype)
            first = factor(tkw.read(s, mapping=stored.s.mapping))
            second = factor(tkw.read(t, mapping=stored.t.mapping))
            x, y = tkw.cast(left, tkl.f16), tkw.cast(right, tkl.f16)
            return acc + tkw.mma(x, y, zero) * (first * second)

        tkw.write(total if result == tkl.f32 else tkw.cast(total, result), c)

    return gemm_mxfp
