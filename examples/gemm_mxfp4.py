"""A product of MXFP4 matrices on gfx950: 4-bit floats, a scale for 32 of them.

    python examples/gemm_mxfp4.py

Two elements share a byte, so the memories are bytes over `K/2`; `bitcast` makes tiles
over `K` of them. Scales are powers of two over `K/32`, in bytes too.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
NUMBERS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)
NUMBERS = torch.cat([NUMBERS, -NUMBERS])
"""Values of the sixteen codes of f4e2m1fn."""

constraints = [
    tkw.WorkgroupConstraint(M, BLOCK_M, 0),
    tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    tkw.TilingConstraint(K, BLOCK_K),
    tkw.WaveConstraint(M, BLOCK_M / 2),
    tkw.WaveConstraint(N, BLOCK_N / 2),
    tkw.HardwareConstraint(mma_type=tkw.ScaledMMAType.F32_16x16x128_F8F6F4),
]


@tkw.wave(constraints)
def gemm(
    a: tkl.Memory[M, K / 2, SHARED, tkl.i8],
    a_scale: tkl.Memory[M, K / 32, SHARED, tkl.i8],
    b: tkl.Memory[N, K / 2, SHARED, tkl.i8],
    b_scale: tkl.Memory[N, K / 32, SHARED, tkl.i8],
    c: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    zero = tkl.Register[M, N, tkl.f32](0.0)

    @tkw.iterate(K, init_args=[zero])
    def total(acc):
        x = tkw.bitcast(tkw.read(a), tkl.f4e2m1fn)
        s = tkw.bitcast(tkw.read(a_scale), tkl.f8e8m0fnu)
        y = tkw.bitcast(tkw.read(b), tkl.f4e2m1fn)
        t = tkw.bitcast(tkw.read(b_scale), tkl.f8e8m0fnu)
        return tkw.scaled_mma(x, s, y, t, acc)

    tkw.write(total, c)


def operand(rows, k):
    """Random bytes of elements and of scales, and the numbers that they stand for.

    Products are multiples of 1/64, at most 576: f32 holds the sums of some hundred.
    """
    data = torch.randint(0, 256, (rows, k // 2), dtype=torch.uint8)
    scales = torch.randint(125, 130, (rows, k // 32), dtype=torch.uint8)
    codes = torch.stack([data & 15, data >> 4], dim=-1).reshape(rows, k)
    factors = torch.exp2(scales.double() - 127).repeat_interleave(32, dim=1)
    bytes_ = data.view(torch.int8), scales.view(torch.int8)
    return *bytes_, NUMBERS[codes.long()] * factors


def build(m=65, n=48, k=352, block=(64, 64, 128), **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    sizes = {M: m, N: n, K: k}
    sizes |= dict(zip((BLOCK_M, BLOCK_N, BLOCK_K), block, strict=True))
    options = {"subs": sizes, "device": "sim", "target": "gfx950", **options}
    kernel = tkw.wave_compile(tkw.WaveCompileOptions(**options), gemm)
    a, a_scale, x = operand(m, k)
    b, b_scale, y = operand(n, k)
    c = torch.full((m, n), torch.nan)
    return kernel, (a, a_scale, b, b_scale, c), (x @ y.T).float()


def main(**options):
    kernel, arguments, expected = build(**options)
    kernel(*arguments)
    torch.testing.assert_close(arguments[-1], expected, rtol=0, atol=0)
    print(f"{kernel.signature}: agrees with torch")


if __name__ == "__main__":
    main()
