"""Matrix product staged through LDS by hand: buffers, copies and barriers.

    python examples/gemm_staged.py

Each wave copies a part of the tiles of a and b to LDS and reads back what it needs,
which other waves have copied. Two barriers order this: the one between copying and
reading makes the copies visible; the one at the end of the body keeps the next
iteration from overwriting what a slower wave still reads. Without either of them the
simulator reports a race.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

constraints = [
    tkw.WorkgroupConstraint(M, BLOCK_M, 0),
    tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    tkw.TilingConstraint(K, BLOCK_K),
    tkw.WaveConstraint(M, BLOCK_M / 2),
    tkw.WaveConstraint(N, BLOCK_N / 2),
    tkw.HardwareConstraint(),
]


@tkw.wave(constraints)
def gemm(
    a: tkl.Memory[M, K, GLOBAL, tkl.f16],
    b: tkl.Memory[N, K, GLOBAL, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    c_reg = tkl.Register[M, N, tkl.f32](0.0)
    # One buffer for the tile of each operand; rows are padded by 8 elements, so that
    # lanes that read down a column do not all hit the same bank.
    a_shared = tkw.allocate((M, K), (BLOCK_M, BLOCK_K), tkl.f16, padding=8)
    b_shared = tkw.allocate((N, K), (BLOCK_N, BLOCK_K), tkl.f16, padding=8)

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


def build(m=128, n=192, k=96, block_m=64, block_n=64, block_k=32, **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    sizes = {M: m, N: n, K: k}
    tiles = {BLOCK_M: block_m, BLOCK_N: block_n, BLOCK_K: block_k}
    options = tkw.WaveCompileOptions(subs=sizes | tiles, **{"device": "sim", **options})
    a = torch.randn(m, k, dtype=torch.float16)
    b = torch.randn(n, k, dtype=torch.float16)
    c = torch.full((m, n), torch.nan)
    return tkw.wave_compile(options, gemm), (a, b, c), a.float() @ b.float().T


def main(**options):
    kernel, arguments, expected = build(**options)
    kernel(*arguments)
    torch.testing.assert_close(arguments[-1], expected, rtol=1e-3, atol=1e-3)
    counted = kernel.last_run.counters.get("instructions", {})
    print(f"{kernel.signature}: agrees with torch")
    for name, count in counted.items() if isinstance(counted, dict) else ():
        print(f"  {name:20} {count:8} instructions of a wave")


if __name__ == "__main__":
    main()
