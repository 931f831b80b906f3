"""Products in machine code, and what the cycle model says of their loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_amdgpu.compile.backend import compile_graph
from wave_core.compile import Config, Session, wave_compile
from wave_emulator_amdgcn import LaunchOptions, emulate, load
from wave_emulator_amdgcn.costs.unit import unit_of

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
SHARED = tkl.SHARED_ADDRESS_SPACE
SHARE = 1 / 16
"""Of a product of 4096 by 4096 in tiles of 256: each line serves 16 workgroups."""


@dataclass(frozen=True)
class Tile:
    """A product ``c = a b^T`` in one workgroup: its tile, its waves along M and N."""

    sizes: tuple[int, int, int]
    waves: tuple[int, int]
    target: str = "gfx942"

    def kernel(self):
        """The kernel."""
        m, n, k = self.sizes
        rows = [
            tkw.WorkgroupConstraint(M, m, 0),
            tkw.WorkgroupConstraint(N, n, 1),
            tkw.TilingConstraint(K, k),
            tkw.WaveConstraint(M, m // self.waves[0]),
            tkw.WaveConstraint(N, n // self.waves[1]),
            tkw.HardwareConstraint(),
        ]

        @tkw.wave(rows)
        def gemm(
            a: tkl.Memory[M, K, SHARED, tkl.f16],
            b: tkl.Memory[N, K, SHARED, tkl.f16],
            c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
        ) -> None:
            start = tkl.Register[M, N, tkl.f32](0.0)

            @tkw.iterate(K, init_args=[start])
            def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
                return tkw.mma(tkw.read(a), tkw.read(b), acc)

            tkw.write(repeat, c)

        return gemm

    def compile(self, trips, **options):
        """The kernel for so many tiles along K; without options, not scheduled."""
        m, n, k = self.sizes
        given = tkw.WaveCompileOptions(
            subs={M: m, N: n, K: k * trips},
            target=self.target,
            device="sim",
            **{"preset": "default", **options},
        )
        session = Session(config=Config(cache=False))
        return wave_compile(given, self.kernel(), session=session)

    def arguments(self, trips):
        """Random factors, and an output that nobody wrote."""
        m, n, k = self.sizes
        rng = np.random.default_rng(trips)
        a, b = (rng.standard_normal((i, k * trips)).astype(np.float16) for i in (m, n))
        return [a, b, np.full((m, n), np.nan, np.float32)]

    def launch(self, trips, counters=False, order=None, **options):
        """Run the machine code; its code object, arguments and result."""
        kernel = self.compile(trips, **options)
        code = load(compile_graph(kernel.graph, kernel.compiled.target).artifact.code)
        arguments = self.arguments(trips)
        how = LaunchOptions(counters=counters, order=order)
        return code, arguments, emulate(code, arguments, grid=(1, 1, 1), options=how)


def error_of(arguments):
    """The largest error of a product."""
    a, b, c = arguments
    return np.abs(c - a.astype(np.float64) @ b.astype(np.float64).T).max()


def cycles_per_iteration(tile, trips=(12, 20), **options):
    """Cycles of the model that one more turn of the loop takes on a compute unit."""
    first, last = (_replayed(tile, count, options) for count in trips)
    return (last - first) / (trips[1] - trips[0])


def _replayed(tile, trips, options):
    """Cycles of as many workgroups as fit, divided by their number."""
    code, arguments, result = tile.launch(trips, counters=True, **options)
    assert result.reports == ()
    assert error_of(arguments) < 1e-3
    unit = unit_of(code, code.kernel(), result, SHARE)
    return unit.replay(unit.resident, unit.resident).cycles / unit.resident
