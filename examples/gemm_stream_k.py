"""Stream-K matrix product: workgroups share tiles, and wait for each other's parts.

    python examples/gemm_stream_k.py

All steps along K of the streamed tiles are numbered, and each of a few workgroups takes
an equal share of them. A share begins and ends within a tile. Who has the first step of
a tile owns it: it adds up what the workgroups after it leave in ``parts``, as soon as
the lock of each says that it is there, and writes ``c``. Who goes on with a tile leaves
its part for the owner. Nobody waits before it has left its own part, so that all of
them end, provided that they run at the same time: there must be no more of them than
the GPU holds at once.

The tiles before the streamed ones, equally many for each workgroup, need none of this:
each is one workgroup's own (``streamed=None`` streams as few as possible).
"""

from __future__ import annotations

import sympy
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

sym = tkl.sym
M, N, K = sym.M, sym.N, sym.K
BLOCK_M, BLOCK_N, BLOCK_K = sym.BLOCK_M, sym.BLOCK_N, sym.BLOCK_K
STEP, TILE, LAST, ONE, SEEN = sym.STEP, sym.TILE, sym.LAST, sym.ONE, sym.SEEN
ME, OTHER, WORKERS, STREAMED = sym.ME, sym.OTHER, sym.WORKERS, sym.STREAMED
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
VOLATILE = tkw.MemoryAccessFlags.VOLATILE
X, Y = tkw.WORKGROUP_0, tkw.WORKGROUP_1

across = (N + BLOCK_N - 1) // BLOCK_N
tiles = (M + BLOCK_M - 1) // BLOCK_M * across
depth = (K + BLOCK_K - 1) // BLOCK_K
share = sympy.Max((STREAMED * depth + WORKERS - 1) // WORKERS, 1)

constraints = [
    tkw.GridConstraint(WORKERS),
    tkw.TilingConstraint(K, BLOCK_K),
    tkw.WorkgroupConstraint(M, BLOCK_M, 0),
    tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    tkw.WaveConstraint(M, BLOCK_M / 2),
    tkw.WaveConstraint(N, BLOCK_N / 2),
    tkw.HardwareConstraint(),
]

i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
tile_of_c = {M: i, N: j}
in_tile = {BLOCK_M: i - X * BLOCK_M, BLOCK_N: j - Y * BLOCK_N}
my_part = tkw.IndexMapping(2, inputs=tile_of_c, outputs={WORKERS: ME} | in_tile)
other_part = tkw.IndexMapping(2, inputs={WORKERS: OTHER} | in_tile, outputs=tile_of_c)
my_lock = tkw.IndexMapping(1, inputs={ONE: i}, outputs={WORKERS: ME})
other_lock = tkw.IndexMapping(1, inputs={ONE: i}, outputs={WORKERS: OTHER})
seen_lock = tkw.IndexMapping(1, inputs={WORKERS: OTHER}, outputs={ONE: i})


@tkw.wave(constraints)
def multiply(
    a: tkl.Memory[M, K, GLOBAL, tkl.f16],
    b: tkl.Memory[N, K, GLOBAL, tkl.f16],
    parts: tkl.Memory[WORKERS, BLOCK_M, BLOCK_N, GLOBAL, tkl.f32],
    locks: tkl.Memory[WORKERS, GLOBAL, tkl.i32],
    c: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    tkw.set_symbol(ME, tkw.scalar(X, tkl.i32))
    free, held = (tkl.Register[ONE, tkl.i32](value) for value in (0, 1))
    whole = tiles - STREAMED
    end = sympy.Min((ME + 1) * share, STREAMED * depth)

    @tkw.iterate(STEP, start=ME * share, condition=end > STEP)
    def each_streamed_tile():
        tile, first = STEP // depth, STEP % depth
        last = sympy.Min(end - tile * depth, depth)
        final = ((tile + 1) * depth - 1) // share
        tkw.set_symbol(X, (whole + tile) // across)
        tkw.set_symbol(Y, (whole + tile) % across)
        # Within the loop over K, `K` is where that stands, and no size.
        tkw.set_symbol(LAST, last)
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, start=first, condition=K < LAST, init_args=[zero])
        def product(acc):
            acc = tkw.mma(tkw.read(a), tkw.read(b), acc)
            tkw.set_symbol(K, K + 1)
            return acc

        @tkw.conditional(first > 0)
        def contribute():
            tkw.write(product, parts, mapping=my_part)
            tkw.fence("release")
            tkw.write(held, locks, mapping=my_lock, flags=VOLATILE)

        @tkw.conditional(first < 1)
        def own():
            @tkw.iterate(
                OTHER, start=ME + 1, condition=final >= OTHER, init_args=[product]
            )
            def total(acc):
                @tkw.iterate(
                    condition=tkw.GET_ITER_ARG(0) < 1,
                    init_args=[tkw.scalar(0, tkl.i32)],
                )
                def wait(_):
                    seen = tkw.read(locks, mapping=seen_lock, flags=VOLATILE)
                    tkw.set_symbol(SEEN, seen)
                    return tkw.scalar(SEEN, tkl.i32)

                tkw.fence("acquire")
                acc = acc + tkw.read(parts, mapping=other_part)
                tkw.write(free, locks, mapping=other_lock, flags=VOLATILE)
                tkw.set_symbol(OTHER, OTHER + 1)
                return acc

            tkw.write(total, c)

        tkw.set_symbol(STEP, tile * depth + last)

    @tkw.iterate(TILE, start=ME, condition=whole > TILE)
    def each_whole_tile():
        tkw.set_symbol(X, TILE // across)
        tkw.set_symbol(Y, TILE % across)

        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def product(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(product, c)
        tkw.set_symbol(TILE, TILE + WORKERS)


def build(m=96, n=160, k=128, workers=4, streamed=None, block=64, block_k=16, **more):
    """A launchable kernel, arguments for it, and what the last of them must become."""
    count = -(-m // block) * -(-n // block)
    if streamed is None:
        streamed = count % workers
    tile = {BLOCK_M: block, BLOCK_N: block, BLOCK_K: block_k}
    sizes = {M: m, N: n, K: k, WORKERS: workers, STREAMED: streamed, ONE: 1}
    options = tkw.WaveCompileOptions(subs=sizes | tile, **more)
    kernel = tkw.wave_compile(options, multiply)
    a = torch.randn(m, k, dtype=torch.float16)
    b = torch.randn(n, k, dtype=torch.float16)
    parts = torch.full((workers, block, block), torch.nan)
    locks = torch.zeros(workers, dtype=torch.int32)
    c = torch.full((m, n), torch.nan)
    return kernel, (a, b, parts, locks, c), a.float() @ b.float().T


def main(**options):
    for streamed in (6, None):
        kernel, arguments, expected = build(streamed=streamed, **options)
        for _ in range(2):  # the kernel leaves its locks as it found them
            kernel(*arguments)
            torch.testing.assert_close(arguments[-1], expected, rtol=1e-3, atol=1e-3)
    print("stream-K with 4 workgroups, of 6 tiles and of 2: agrees with torch")


if __name__ == "__main__":
    main()
