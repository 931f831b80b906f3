"""Kernels that say what one thread does: vector add, sums of blocks, transpose.

    python examples/single_threads.py

In `block_sum` the threads of a workgroup halve a buffer of partial sums in LDS until
one is left; a barrier stands between any two halvings. `transpose` goes through LDS
too, so that both its loads and its stores touch neighbouring elements; rows of the tile
are one element longer than they need to be, which spreads columns over the banks.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

N, M, BLOCKS = tkl.sym.N, tkl.sym.M, tkl.sym.BLOCKS
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

THREADS, TILE = 256, 16


def machine(lanes):
    """A workgroup of 256 threads."""
    return tkw.HardwareConstraint(waves_per_block=(THREADS // lanes,))


def vector_add(lanes=64):
    @tkw.thread([tkw.WorkgroupConstraint(N, THREADS, 0), machine(lanes)])
    def vector_add(
        a: tkl.Memory[N, GLOBAL, tkl.f32],
        b: tkl.Memory[N, GLOBAL, tkl.f32],
        c: tkl.Memory[N, GLOBAL, tkl.f32],
    ):
        i = tkw.program_id(0) * THREADS + tkw.thread_id(0)

        @tkw.conditional(i < N)
        def inside():
            tkw.store(tkw.load(a, i) + tkw.load(b, i), c, i)

    return vector_add


def block_sum(lanes=64):
    @tkw.thread([tkw.WorkgroupConstraint(N, THREADS, 0), machine(lanes)])
    def block_sum(
        a: tkl.Memory[N, GLOBAL, tkl.f32],
        sums: tkl.Memory[BLOCKS, GLOBAL, tkl.f32],
    ):
        t = tkw.thread_id(0)
        i = tkw.program_id(0) * THREADS + t
        parts = tkw.allocate(THREADS, dtype=tkl.f32)
        tkw.store(tkw.load(a, i, mask=i < N), parts, t)

        def add_upper(half):
            tkw.shared_memory_barrier()

            @tkw.conditional(t < half)
            def _lower():
                tkw.store(tkw.load(parts, t) + tkw.load(parts, t + half), parts, t)

        half = THREADS // 2
        while half:
            add_upper(half)
            half //= 2
        tkw.store(tkw.load(parts, 0, mask=t == 0), sums, tkw.program_id(0), mask=t == 0)

    return block_sum


def transpose(lanes=64):
    @tkw.thread(
        [
            tkw.WorkgroupConstraint(M, TILE, 0),
            tkw.WorkgroupConstraint(N, TILE, 1),
            machine(lanes),
        ]
    )
    def transpose(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[N, M, GLOBAL, tkl.f32]
    ):
        t = tkw.thread_id(0)
        slow, fast = t // TILE, t % TILE
        rows, columns = tkw.program_id(0) * TILE, tkw.program_id(1) * TILE
        tile = tkw.allocate((TILE, TILE + 1), dtype=tkl.f32)

        m, n = rows + slow, columns + fast
        tkw.store(tkw.load(a, (m, n), mask=(m < M) & (n < N)), tile, (slow, fast))
        tkw.shared_memory_barrier()
        m, n = rows + fast, columns + slow
        tkw.store(tkw.load(tile, (fast, slow)), b, (n, m), mask=(m < M) & (n < N))

    return transpose


def build(kernel=vector_add, m=33, n=1000, lanes=64, session=None, **options):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    blocks = -(-n // THREADS)
    if kernel is transpose:
        arguments = torch.randn(m, n), torch.full((n, m), torch.nan)
        expected = arguments[0].T
    elif kernel is block_sum:
        arguments = torch.randn(n), torch.full((blocks,), torch.nan)
        padded = torch.nn.functional.pad(arguments[0], (0, blocks * THREADS - n))
        expected = padded.view(blocks, THREADS).double().sum(dim=1).float()
    else:
        arguments = torch.randn(n), torch.randn(n), torch.full((n,), torch.nan)
        expected = arguments[0] + arguments[1]
    subs = {M: m, N: n, BLOCKS: blocks}
    options = tkw.WaveCompileOptions(subs=subs, **options)
    compiled = tkw.wave_compile(options, kernel(lanes), session=session)
    return compiled, arguments, expected


def main(**options):
    for kernel in (vector_add, block_sum, transpose):
        compiled, arguments, expected = build(kernel, **options)
        compiled(*arguments)
        torch.testing.assert_close(arguments[-1], expected)
        print(f"{compiled.signature}: agrees with torch")


if __name__ == "__main__":
    main()
