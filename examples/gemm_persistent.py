"""Persistent matrix product: a few workgroups take one tile after the other.

    python examples/gemm_persistent.py

`GridConstraint` fixes how many workgroups there are, whatever the sizes. Each starts
with the tile of its own number and goes on in steps of the number of workgroups, as
long as there are tiles: a while loop, in which `set_symbol` moves the axis on. How
often it runs differs between workgroups. Where the tile of `c` is, the kernel says by
setting the coordinates of its workgroup.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

sym = tkl.sym
M, N, K = sym.M, sym.N, sym.K
BLOCK_M, BLOCK_N, BLOCK_K = sym.BLOCK_M, sym.BLOCK_N, sym.BLOCK_K
TILE, WORKERS = sym.TILE, sym.WORKERS
SPACE = sym.SPACE
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

constraints = [
    tkw.GridConstraint(WORKERS),
    tkw.WorkgroupConstraint(M, BLOCK_M, 0),
    tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    tkw.TilingConstraint(K, BLOCK_K),
    tkw.TilingConstraint(TILE),
    tkw.WaveConstraint(M, BLOCK_M / 2),
    tkw.WaveConstraint(N, BLOCK_N / 2),
    tkw.HardwareConstraint(),
]


@tkw.wave(constraints)
def gemm(
    a: tkl.Memory[M, K, SPACE, tkl.f16],
    b: tkl.Memory[N, K, SPACE, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    across = (N + BLOCK_N - 1) // BLOCK_N
    tiles = (M + BLOCK_M - 1) // BLOCK_M * across
    first = tkw.scalar(tkw.WORKGROUP_0, tkl.i32)

    @tkw.iterate(TILE, start=first, condition=tiles > TILE)
    def each_tile():
        tkw.set_symbol(tkw.WORKGROUP_0, TILE // across)
        tkw.set_symbol(tkw.WORKGROUP_1, TILE % across)

        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def product(acc):
            a_reg = tkw.read(a)
            b_reg = tkw.read(b)
            return tkw.mma(a_reg, b_reg, acc)

        tkw.write(product, c)
        tkw.set_symbol(TILE, TILE + WORKERS)


def build(m=96, n=160, k=64, workers=4, block=64, block_k=16, *, staged=False, **more):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    space = tkl.SHARED_ADDRESS_SPACE if staged else GLOBAL
    tiles = {BLOCK_M: block, BLOCK_N: block, BLOCK_K: block_k}
    sizes = {M: m, N: n, K: k, WORKERS: workers, SPACE: space}
    options = tkw.WaveCompileOptions(subs=sizes | tiles, **more)
    a = torch.randn(m, k, dtype=torch.float16)
    b = torch.randn(n, k, dtype=torch.float16)
    c = torch.full((m, n), torch.nan)
    return tkw.wave_compile(options, gemm), (a, b, c), a.float() @ b.float().T


def main(**options):
    kernel, arguments, expected = build(**options)
    kernel(*arguments)
    torch.testing.assert_close(arguments[-1], expected, rtol=1e-3, atol=1e-3)
    print(
        f"{kernel.signature}: {kernel.last_run.grid[0]} workgroups, agrees with torch"
    )


if __name__ == "__main__":
    main()
