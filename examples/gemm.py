"""Matrix product with the matrix instructions of the machine: the tutorial's kernel.

    python examples/gemm.py           compiles, runs, compares with torch
    python examples/gemm.py --demo    shows what the compiler does on the way

The kernel says what one tile computes. The constraints say who computes which tile;
other tiles or another split among waves change nothing below `@tkw.wave`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

constraints = [
    # A workgroup computes BLOCK_M x BLOCK_N elements of c ...
    tkw.WorkgroupConstraint(M, BLOCK_M, 0),
    tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    # ... walking along K in steps of BLOCK_K ...
    tkw.TilingConstraint(K, BLOCK_K),
    # ... with four waves, two by two ...
    tkw.WaveConstraint(M, BLOCK_M / 2),
    tkw.WaveConstraint(N, BLOCK_N / 2),
    # ... of 64 lanes, and this matrix instruction.
    tkw.HardwareConstraint(),
]


@tkw.wave(constraints)
def gemm(
    a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
    b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
    c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    c_reg = tkl.Register[M, N, tkl.f32](0.0)

    # The loop over K. Its body runs once for each step with the sum so far.
    @tkw.iterate(K, init_args=[c_reg])
    def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
        a_reg = tkw.read(a)
        b_reg = tkw.read(b)
        acc = tkw.mma(a_reg, b_reg, acc)
        return acc

    tkw.write(repeat, c)


def build(m=512, n=384, k=256, block_m=128, block_n=128, block_k=32, **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    sizes = {M: m, N: n, K: k}
    tiles = {BLOCK_M: block_m, BLOCK_N: block_n, BLOCK_K: block_k}
    options = tkw.WaveCompileOptions(
        subs=sizes | tiles | {ADDRESS_SPACE: tkl.GLOBAL_MEMORY},
        **{"device": "sim", **options},
    )
    a = torch.randn(m, k, dtype=torch.float16)
    b = torch.randn(n, k, dtype=torch.float16)
    c = torch.full((m, n), torch.nan)
    return tkw.wave_compile(options, gemm), (a, b, c), a.float() @ b.float().T


def main(**options):
    kernel, (a, b, c), expected = build(**options)
    kernel(a, b, c)
    error = (c - expected).abs().max() / (a.abs().float() @ b.abs().float().T).max()
    assert error < 1e-3, error
    print(f"{kernel.signature}: error {error:.1e} of the largest |a| |b|^T")


def demo(out):
    """The same on one workgroup's worth of data that no tile divides."""
    # Imported here, because only the demonstration needs it.
    from demonstrate import demonstrate  # noqa: PLC0415

    kernel, arguments, expected = build(m=100, n=72, k=80, block_m=64, block_n=64)
    demonstrate(kernel, arguments, expected, out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--demo", action="store_true", help="show each stage")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for pictures")
    chosen = parser.parse_args()
    if chosen.demo:
        demo(chosen.out)
    else:
        main()
