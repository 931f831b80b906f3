"""Products whose operands are stored with another dimension last than K."""

from __future__ import annotations

import numpy as np
from staged import GLOBAL, SHARED, session, simulate

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import wave_compile

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K


def product(tile, waves, a_dims, b_dims, dtype, space=SHARED):
    """``c = a b`` with ``a`` stored as ``a_dims`` and ``b`` as ``b_dims``."""
    m, n, k = tile
    constraints = [
        tkw.WorkgroupConstraint(M, m, 0),
        tkw.WorkgroupConstraint(N, n, 1),
        tkw.TilingConstraint(K, k),
        tkw.WaveConstraint(M, m // waves[0]),
        tkw.WaveConstraint(N, n // waves[1]),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[a_dims[0], a_dims[1], space, dtype],
        b: tkl.Memory[b_dims[0], b_dims[1], space, dtype],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return kernel


STORED = {"row": ((M, K), (K, N)), "both": ((K, M), (K, N)), "left": ((K, M), (N, K))}
"""Which operands have another dimension last than K: b as numpy has it; both; a."""


class Product:
    """A compiled product, its operands and what they give.

    Args:
        stored: A key of ``STORED``.
        sizes: M, N and K.
    """

    def __init__(self, stored, sizes, tile, waves, dtype, target, **options):
        self.sizes, self.dtype = sizes, dtype
        self.dims = STORED[stored]
        kernel = product(tile, waves, *self.dims, dtype)
        subs = dict(zip((M, N, K), sizes, strict=True))
        given = {"preset": "default", **options}
        asked = tkl.WaveCompileOptions(subs=subs, target=target, **given)
        self.kernel = wave_compile(asked, kernel, session=session())

    def arguments(self, seed=0):
        """Random numbers, as they are stored."""
        rng = np.random.default_rng(seed)
        extent = dict(zip((M, N, K), self.sizes, strict=True))
        a, b = (
            rng.standard_normal([extent[d] for d in dims])
            .astype(np.float32)
            .astype(self.dtype.numpy())
            for dims in self.dims
        )
        return [a, b, np.full(self.sizes[:2], np.nan, np.float32)]

    def error(self, arguments):
        """The largest difference from the product in f64, relative to the largest."""
        a, b, c = (array.astype(np.float64) for array in arguments)
        a = a.T if self.dims[0] == (K, M) else a
        b = b.T if self.dims[1] == (N, K) else b
        wanted = a @ b
        return np.abs(c - wanted).max() / np.abs(wanted).max()

    def simulate(self):
        """The error and the counters of the lane simulator."""
        arguments = self.arguments()
        result = simulate(self.kernel, arguments)
        assert result.reports == ()
        return self.error(arguments), result.counters

    def counted(self, name):
        """What a pass counted."""
        runs = [r for r in self.kernel.timings.passes if r.name == name]
        return {} if not runs else dict(runs[0].statistics)


def per_thread(counters, iterations):
    """Instructions of a thread and iteration, by kind."""
    return {
        name: count / counters.units / iterations
        for name, count in counters.instructions.items()
        if name.startswith(("lds", "global_read"))
    }
