"""Matrix product whose sum over K is split among workgroups.

    python examples/splitk.py

Where M and N are small and K is large, tiles of the result alone do not fill a GPU.
Here each workgroup sums one part of K and adds it to the result, which starts at 0.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
PART_K = tkl.sym.PART_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

constraints = [
    tkw.WorkgroupConstraint(M, BLOCK_M, 0),
    tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    # The third axis of the grid goes over parts of K; each is walked in steps.
    tkw.WorkgroupConstraint(K, PART_K, 2),
    tkw.TilingConstraint(K, BLOCK_K),
    tkw.WaveConstraint(M, BLOCK_M / 2),
    tkw.WaveConstraint(N, BLOCK_N / 2),
    tkw.HardwareConstraint(),
]


@tkw.wave(constraints)
def splitk(
    a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
    b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
    c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    c_reg = tkl.Register[M, N, tkl.f32](0.0)

    @tkw.iterate(K, init_args=[c_reg])
    def part(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
        return tkw.mma(tkw.read(a), tkw.read(b), acc)

    tkw.atomic_add(part, c)


def build(
    m=64,
    n=96,
    k=512,
    part_k=128,
    block=32,
    space=tkl.GLOBAL_MEMORY,
    session=None,
    **options,
):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    tiles = {BLOCK_M: block, BLOCK_N: block, BLOCK_K: 32, PART_K: part_k}
    subs = {M: m, N: n, K: k} | tiles | {ADDRESS_SPACE: space}
    # Sums of small integers are exact, in whatever order workgroups add.
    a, b = (torch.randint(-8, 9, (rows, k)).half() for rows in (m, n))
    compiled = tkw.wave_compile(
        tkw.WaveCompileOptions(subs=subs, **options), splitk, session=session
    )
    return compiled, (a, b, torch.zeros(m, n)), a.float() @ b.float().T


def main(**options):
    kernel, (a, b, c), expected = build(**options)
    kernel(a, b, c)
    torch.testing.assert_close(c, expected, rtol=0, atol=0)
    print(f"{kernel.signature}: agrees with torch")


if __name__ == "__main__":
    main()
