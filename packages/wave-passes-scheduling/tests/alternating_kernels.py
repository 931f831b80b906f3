"""Products whose waves alternate in a loop, for tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Session
from wave_core.ops.control import Iterate

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
SHARED = tkl.SHARED_ADDRESS_SPACE
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
PINGPONG = "reorder-loops{order=pingpong}"


@dataclass(frozen=True)
class Product:
    """``c = a b^T`` on a tile, by so many waves along M and N."""

    tile: tuple[int, int, int] = (64, 64, 32)
    waves: tuple[int, int] = (2, 2)
    buffered: bool = False

    def kernel(self):
        """The kernel; its tiles are staged by hand where it is ``buffered``."""
        m, n, k = self.tile
        rows = [
            tkw.WorkgroupConstraint(M, m, 0),
            tkw.WorkgroupConstraint(N, n, 1),
            tkw.TilingConstraint(K, k),
            tkw.WaveConstraint(M, m // self.waves[0]),
            tkw.WaveConstraint(N, n // self.waves[1]),
            tkw.HardwareConstraint(),
        ]
        return _by_hand(rows, self.tile) if self.buffered else _staged(rows)

    def compile(self, sizes, target="generic", dynamic=False, **options):
        """The kernel for sizes."""
        subs = dict(zip((M, N, K), sizes, strict=True))
        if dynamic:
            del subs[K]
        given = tkw.WaveCompileOptions(
            subs=subs,
            dynamic_symbols=(K,) if dynamic else (),
            target=target,
            device="sim",
            **options,
        )
        return tkw.wave_compile(given, self.kernel(), session=Session())

    def run(self, trips=5, cut=8, **options):
        """Compile for so many tiles along K, the last one cut; kernel and error."""
        m, n, k = self.tile
        sizes = (m + 16, n, max(0, trips * k - cut))
        found = self.compile(sizes, **options)
        return found, error_of(found, sizes)


def _staged(rows):
    @tkw.wave(rows)
    def gemm(
        a: tkl.Memory[M, K, SHARED, tkl.f16],
        b: tkl.Memory[N, K, SHARED, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        start = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[start])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return gemm


def _by_hand(rows, tile):
    m, n, k = tile

    @tkw.wave(rows)
    def gemm(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        start = tkl.Register[M, N, tkl.f32](0.0)
        a_shared = tkw.allocate((M, K), (m, k), tkl.f16)
        b_shared = tkw.allocate((N, K), (n, k), tkl.f16)

        @tkw.iterate(K, init_args=[start])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            tkw.write(tkw.read(a), a_shared)
            tkw.write(tkw.read(b), b_shared)
            return tkw.mma(tkw.read(a_shared), tkw.read(b_shared), acc)

        tkw.write(repeat, c)

    return gemm


def arguments(sizes):
    """Random factors, and an output that nobody wrote."""
    m, n, k = sizes
    rng = np.random.default_rng(k)
    a, b = (rng.standard_normal((i, k)).astype(np.float16) for i in (m, n))
    return a, b, np.full((m, n), np.nan, np.float32)


def error_of(kernel, sizes):
    """The largest error of a run."""
    a, b, c = arguments(sizes)
    kernel(a, b, c)
    return np.abs(c - a.astype(np.float64) @ b.astype(np.float64).T).max()


def counted(kernel, name):
    """The counts of a pass."""
    return next(r.statistics for r in kernel.compiled.report.passes if r.name == name)


def messages(kernel):
    """What loops that stay as they are say."""
    rows = kernel.compiled.warnings
    return [row.message for row in rows if row.code == "WV0506"]


def loop_of(graph):
    """The only loop of a graph."""
    (found,) = (op for op in graph.walk() if isinstance(op, Iterate))
    return found
