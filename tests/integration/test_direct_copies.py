"""Machine code of tiles copied directly to LDS: right, free of hazards, and guarded."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_amdgpu.compile.backend import compile_graph
from wave_core.compile import Config, Session, wave_compile
from wave_core.ir import erase
from wave_emulator_amdgcn import LaunchOptions, emulate, load
from wave_emulator_amdgcn.hazards.planted import planted

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
F8 = {"gfx942": tkl.f8e4m3fnuz, "gfx950": tkl.f8e4m3fn}
TARGETS = pytest.mark.parametrize("target", ["gfx942", "gfx950"])


def gemm(tile, waves, dtype):
    constraints = [
        tkw.WorkgroupConstraint(M, tile[0], 0),
        tkw.WorkgroupConstraint(N, tile[1], 1),
        tkw.TilingConstraint(K, tile[2]),
        tkw.WaveConstraint(M, tile[0] // waves[0]),
        tkw.WaveConstraint(N, tile[1] // waves[1]),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, K, tkl.SHARED_ADDRESS_SPACE, dtype],
        b: tkl.Memory[N, K, tkl.SHARED_ADDRESS_SPACE, dtype],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return kernel


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False))


class Product:
    """A product of one tile, compiled with direct copies."""

    def __init__(self, session, sizes, tile, waves, target, dtype=tkl.f16):
        options = tkl.WaveCompileOptions(
            subs=dict(zip((M, N, K), sizes, strict=True)),
            target=target,
            use_global_to_shared=True,
        )
        kernel = gemm(tile, waves, dtype)
        self.compiled = wave_compile(options, kernel, session=session)
        self.sizes, self.dtype = sizes, dtype
        self.grid = (-(-sizes[0] // tile[0]), -(-sizes[1] // tile[1]), 1)
        self.target = self.compiled.compiled.target

    def code(self, graph=None):
        return compile_graph(graph or self.compiled.graph, self.target).artifact.code

    def launch(self, code, **options):
        """What the emulator says, and the largest error."""
        m, n, k = self.sizes
        rng = np.random.default_rng(0)
        a, b = (
            rng.integers(-2, 3, (rows, k)).astype(self.dtype.numpy()) for rows in (m, n)
        )
        c = np.full((m, n), np.nan, np.float32)
        launch = LaunchOptions(**options)
        result = emulate(load(code), [a, b, c], grid=self.grid, options=launch)
        wanted = a.astype(np.float64) @ b.astype(np.float64).T
        return result, np.abs(c - wanted).max()


ROWS = [
    ((256, 256, 96), (256, 256, 32), (4, 2), "f16"),
    ((128, 128, 96), (128, 128, 32), (2, 2), "f16"),
    ((130, 120, 72), (128, 128, 32), (2, 2), "f16"),
    ((128, 128, 128), (128, 128, 64), (2, 2), "f8"),
    ((128, 128, 64), (128, 128, 32), (2, 2), "f32"),
]


@TARGETS
@pytest.mark.parametrize(("sizes", "tile", "waves", "dtype"), ROWS)
def test_right_without_conflict_or_hazard(session, sizes, tile, waves, dtype, target):
    kind = {"f16": tkl.f16, "f8": F8[target], "f32": tkl.f32}[dtype]
    product = Product(session, sizes, tile, waves, target, kind)
    result, error = product.launch(product.code(), counters=True)
    assert (error, result.reports) == (0, ())
    samples = result.meter.samples.values()
    assert sum(sample.lds_cycles for sample in samples) > 0
    assert sum(sample.lds_cycles - sample.lds_ideal for sample in samples) == 0


@TARGETS
def test_any_order_of_completion_gives_the_same(session, target):
    product = Product(session, (128, 128, 96), (128, 128, 32), (2, 2), target)
    code = product.code()
    assert [product.launch(code, order=seed)[1] for seed in range(3)] == [0] * 3


@TARGETS
def test_weaker_waits_for_copies_are_reported(session, target):
    product = Product(session, (128, 128, 96), (128, 128, 32), (2, 2), target)
    waits = [
        defect
        for defect in planted(product.code())
        if defect.kind == "wait" and defect.what.startswith("vmcnt 0 to ")
    ]
    assert waits
    for defect in waits:
        result, _ = product.launch(defect.code, strict=True)
        assert {row.code for row in result.reports} & {"EM0501", "EM0506"}


@TARGETS
def test_missing_barriers_are_reported(session, target):
    product = Product(session, (128, 128, 96), (128, 128, 32), (2, 2), target)
    for position in range(2):
        graph = product.compiled.graph.clone()
        barriers = [op for op in graph.walk() if op.op_name == "shared_memory_barrier"]
        erase(barriers[position])
        result, _ = product.launch(product.code(graph))
        assert "EM0501" in {row.code for row in result.reports}
