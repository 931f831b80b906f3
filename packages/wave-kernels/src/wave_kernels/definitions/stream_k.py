"""Stream-K matrix product: workgroups share tiles, so that no compute unit is idle.

Each computes equally many whole tiles; what tiles are left, and all of them where there
are fewer than workgroups, is split along K. Who has the first step of a tile adds to it
what others leave in ``parts``, in their order, so results are the same in each run.
Workgroups wait for each other: there may be no more of them than the GPU holds at once,
one a compute unit. ``locks`` is 0 before and after a launch.
"""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportOperatorIssue=false

from __future__ import annotations

from typing import Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.staging import ADDRESS_SPACE, STAGING

M = tkl.sym.M
N = tkl.sym.N
K = tkl.sym.K
BLOCK_M = tkl.sym.BLOCK_M
BLOCK_N = tkl.sym.BLOCK_N
BLOCK_K = tkl.sym.BLOCK_K
WAVES_M = tkl.sym.WAVES_M
WAVES_N = tkl.sym.WAVES_N
WORKERS = tkl.sym.WORKERS
ONE = tkl.sym.ONE
STEP = tkl.sym.STEP
TILE = tkl.sym.TILE
LAST = tkl.sym.LAST
SEEN = tkl.sym.SEEN
ME = tkl.sym.ME
OTHER = tkl.sym.OTHER
X, Y = tkw.WORKGROUP_0, tkw.WORKGROUP_1
VOLATILE = tkw.MemoryAccessFlags.VOLATILE

ACROSS = (N + BLOCK_N - 1) // BLOCK_N
TILES = (M + BLOCK_M - 1) // BLOCK_M * ACROSS
DEPTH = (K + BLOCK_K - 1) // BLOCK_K
STREAMED = TILES % WORKERS
"""Tiles that are shared; of the others, each workgroup has equally many."""
SHARE = sympy.Max((STREAMED * DEPTH + WORKERS - 1) // WORKERS, 1)
"""Steps along K of the streamed tiles that one workgroup takes."""
END = sympy.Min((ME + 1) * SHARE, STREAMED * DEPTH)
"""The first step of the next workgroup."""
WHOLE = TILES - STREAMED

_I, _J = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
_TILE = {M: _I, N: _J}
_INSIDE = {BLOCK_M: _I - X * BLOCK_M, BLOCK_N: _J - Y * BLOCK_N}
MY_PART = tkw.IndexMapping(2, inputs=_TILE, outputs={WORKERS: ME} | _INSIDE)
PART = tkw.IndexMapping(2, inputs={WORKERS: OTHER} | _INSIDE, outputs=_TILE)
MY_LOCK = tkw.IndexMapping(1, inputs={ONE: _I}, outputs={WORKERS: ME})
FREED_LOCK = tkw.IndexMapping(1, inputs={ONE: _I}, outputs={WORKERS: OTHER})
SEEN_LOCK = tkw.IndexMapping(1, inputs={WORKERS: OTHER}, outputs={ONE: _I})


CONSTRAINTS = (
    tkw.GridConstraint(WORKERS),
    tkw.TilingConstraint(K, BLOCK_K),
    tkw.WorkgroupConstraint(M, BLOCK_M, 0),
    tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    tkw.WaveConstraint(M, BLOCK_M / WAVES_M),
    tkw.WaveConstraint(N, BLOCK_N / WAVES_N),
    tkw.HardwareConstraint(),
    tkw.DieOrder(),
    # What is added up and what is handed on are two tiles of sums.
    tkw.Tunable((WAVES_M, WAVES_N), ((2, 2),), narrow=((4, 2),)),
    STAGING,
)


def stream_k_kernel() -> Any:
    """``c[m, n] = sum_k a[m, k] * b[n, k]`` by ``WORKERS`` workgroups.

    Shapes: ``a: [M, K]``, ``b: [N, K]``, ``parts: [WORKERS, BLOCK_M, BLOCK_N]``,
    ``locks: [WORKERS]``, ``c: [M, N]``. Dtypes: ``a`` and ``b`` f16, ``locks`` i32,
    the others f32. To bind: tiles, ``WORKERS``, ``ONE`` to 1; staging stays open.
    """

    @tkw.wave(CONSTRAINTS)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        parts: tkl.Memory[WORKERS, BLOCK_M, BLOCK_N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
        locks: tkl.Memory[WORKERS, tkl.GLOBAL_ADDRESS_SPACE, tkl.i32],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        tkw.set_symbol(ME, tkw.scalar(X, tkl.i32))
        free, held = (tkl.Register[ONE, tkl.i32](value) for value in (0, 1))

        @tkw.iterate(STEP, start=ME * SHARE, condition=END > STEP)
        def each_streamed_tile() -> None:
            streamed, first = STEP // DEPTH, STEP % DEPTH
            final = ((streamed + 1) * DEPTH - 1) // SHARE
            tkw.set_symbol(X, (WHOLE + streamed) // ACROSS)
            tkw.set_symbol(Y, (WHOLE + streamed) % ACROSS)
            # Within the loop over K, `K` is where that stands, and no size.
            tkw.set_symbol(LAST, sympy.Min(END - streamed * DEPTH, DEPTH))
            zero = tkl.Register[M, N, tkl.f32](0.0)

            @tkw.iterate(K, start=first, condition=K < LAST, init_args=[zero])
            def product(acc: tkl.Register[M, N, tkl.f32]) -> Any:
                acc = tkw.mma(tkw.read(a), tkw.read(b), acc)
                tkw.set_symbol(K, K + 1)
                return acc

            @tkw.conditional(first > 0)
            def contribute() -> None:
                tkw.write(product, parts, mapping=MY_PART)
                tkw.fence("release")
                tkw.write(held, locks, mapping=MY_LOCK, flags=VOLATILE)

            @tkw.conditional(first < 1)
            def own() -> None:
                @tkw.iterate(
                    OTHER, start=ME + 1, condition=final >= OTHER, init_args=[product]
                )
                def total(acc: tkl.Register[M, N, tkl.f32]) -> Any:
                    @tkw.iterate(
                        condition=tkw.GET_ITER_ARG(0) < 1,
                        init_args=[tkw.scalar(0, tkl.i32)],
                    )
                    def wait(_: Any) -> Any:
                        seen = tkw.read(locks, mapping=SEEN_LOCK, flags=VOLATILE)
                        tkw.set_symbol(SEEN, seen)
                        return tkw.scalar(SEEN, tkl.i32)

                    tkw.fence("acquire")
                    acc = acc + tkw.read(parts, mapping=PART)
                    tkw.write(free, locks, mapping=FREED_LOCK, flags=VOLATILE)
                    tkw.set_symbol(OTHER, OTHER + 1)
                    return acc

                tkw.write(total, c)

            tkw.set_symbol(STEP, streamed * DEPTH + LAST)

        @tkw.iterate(TILE, start=ME, condition=WHOLE > TILE)
        def each_whole_tile() -> None:
            tkw.set_symbol(X, TILE // ACROSS)
            tkw.set_symbol(Y, TILE % ACROSS)

            @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
            def product(acc: tkl.Register[M, N, tkl.f32]) -> Any:
                return tkw.mma(tkw.read(a), tkw.read(b), acc)

            tkw.write(product, c)
            tkw.set_symbol(TILE, TILE + WORKERS)

    return gemm
