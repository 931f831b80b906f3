"""Matrix product whose sizes are known only at launch: compiled once, run on any.

    python examples/gemm_dynamic.py

The tiles are constants, M, N and K are not: they come from the tensors of each launch.
What the author knows about them goes into an `Assumption`. The compiler may rely on it
to leave out masks and checks, so every launch is checked against it.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

constraints = [
    tkw.WorkgroupConstraint(M, BLOCK_M, 0),
    tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    tkw.TilingConstraint(K, BLOCK_K),
    tkw.WaveConstraint(M, BLOCK_M / 2),
    tkw.WaveConstraint(N, BLOCK_N / 2),
    tkw.HardwareConstraint(),
    tkw.Assumption(K > BLOCK_K * 4),
]


@tkw.wave(constraints)
def gemm(
    a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
    b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
    c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    c_reg = tkl.Register[M, N, tkl.f32](0.0)

    @tkw.iterate(K, init_args=[c_reg])
    def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
        a_reg = tkw.read(a)
        b_reg = tkw.read(b)
        acc = tkw.mma(a_reg, b_reg, acc)
        return acc

    tkw.write(repeat, c)


def compiled(**options):
    options = tkw.WaveCompileOptions(
        subs={
            BLOCK_M: 64,
            BLOCK_N: 64,
            BLOCK_K: 16,
            ADDRESS_SPACE: tkl.GLOBAL_MEMORY,
        },
        dynamic_symbols=(M, N, K),
        **{"device": "sim", **options},
    )
    return tkw.wave_compile(options, gemm)


def build(m=100, n=65, k=77, **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    a = torch.randn(m, k, dtype=torch.float16)
    b = torch.randn(n, k, dtype=torch.float16)
    c = torch.full((m, n), torch.nan)
    return compiled(**options), (a, b, c), a.float() @ b.float().T


def main(**options):
    # `wave_compile` remembers kernels: all of these are one compilation.
    for m, n, k in ((100, 65, 77), (1, 200, 96), (129, 64, 129)):
        kernel, arguments, expected = build(m, n, k, **options)
        kernel(*arguments)
        torch.testing.assert_close(arguments[-1], expected, rtol=1e-3, atol=1e-3)
        print(f"{kernel.signature} with M={m} N={n} K={k}: agrees with torch")


if __name__ == "__main__":
    main()
