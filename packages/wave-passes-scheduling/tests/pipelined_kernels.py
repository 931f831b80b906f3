"""Kernels with a loop, for tests that pipeline them."""

from __future__ import annotations

import numpy as np

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Session
from wave_passes_scheduling.strategies import Strategy
from wave_passes_scheduling.strategies.strategy import PREFETCHING

OTHERS = Strategy(PREFETCHING.schedule)
"""A strategy as a plugin could have one."""

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
TILE = 16


def staged_gemm(*more, wave_tile=16, tile=TILE, fenced=False):
    """A product staged through LDS, with at most one barrier of the author's."""
    rows = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K, tile),
        tkw.WaveConstraint(M, wave_tile),
        tkw.WaveConstraint(N, wave_tile),
        tkw.HardwareConstraint(),
        *more,
    ]

    @tkw.wave(rows)
    def gemm(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        start = tkl.Register[M, N, tkl.f32](0.0)
        a_shared = tkw.allocate((M, K), (32, tile), tkl.f16)
        b_shared = tkw.allocate((N, K), (32, tile), tkl.f16)

        @tkw.iterate(K, init_args=[start])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            if fenced:
                tkw.shared_memory_barrier()
            tkw.write(tkw.read(a), a_shared)
            tkw.write(tkw.read(b), b_shared)
            return tkw.mma(tkw.read(a_shared), tkw.read(b_shared), acc)

        tkw.write(repeat, c)

    return gemm


def biased_gemm():
    """A product whose start lies in LDS and is used before and after the loop."""
    rows = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K, TILE),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def gemm(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        start = tkl.Register[M, N, tkl.f32](0.0)
        kept = tkw.allocate((M, N), (32, 32), tkl.f32)
        a_shared = tkw.allocate((M, K), (32, TILE), tkl.f16)
        b_shared = tkw.allocate((N, K), (32, TILE), tkl.f16)
        tkw.write(start, kept)

        @tkw.iterate(K, init_args=[start])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            tkw.write(tkw.read(a), a_shared)
            tkw.write(tkw.read(b), b_shared)
            return tkw.mma(tkw.read(a_shared), tkw.read(b_shared), acc)

        tkw.write(repeat + tkw.read(kept), c)

    return gemm


def run_gemm(kernel, sizes=(40, 33, 160), **options):
    """Compile a product for ``sizes`` and run it; the kernel, and its error."""
    m, n, k = sizes
    dynamic = options.pop("dynamic", False)
    subs = {M: m, N: n} if dynamic else {M: m, N: n, K: k}
    given = tkw.WaveCompileOptions(
        subs=subs, dynamic_symbols=(K,) if dynamic else (), device="sim", **options
    )
    compiled = tkw.wave_compile(given, kernel, session=Session())
    rng = np.random.default_rng(k)
    a, b = (rng.standard_normal((i, k)).astype(np.float16) for i in (m, n))
    c = np.full((m, n), np.nan, np.float32)
    compiled(a, b, c)
    return compiled, np.abs(c - a.astype(np.float64) @ b.astype(np.float64).T).max()


def statistics(compiled):
    """The counts of the scheduling pass."""
    runs = compiled.compiled.report.passes
    return next(r.statistics for r in runs if r.name == "schedule-loops")


def loops_of(compiled):
    """The loops of the code, in order."""
    return [op for op in compiled.compiled.lowered.walk() if op.op_name == "iterate"]
