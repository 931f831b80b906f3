"""Machine code of products whose operands are stored across: right, no hazards."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_amdgpu.compile.backend import Settings, compile_graph
from wave_core.compile import Config, Session, wave_compile
from wave_emulator_amdgcn import LaunchOptions, emulate, load

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
SHARED = tkl.SHARED_ADDRESS_SPACE

ROWS = [
    ("gfx942", tkl.f16),
    ("gfx942", tkl.bf16),
    ("gfx942", tkl.f8e4m3fnuz),
    ("gfx950", tkl.f16),
    ("gfx950", tkl.f8e4m3fn),
    ("gfx950", tkl.i8),
    ("gfx1100", tkl.f16),
]
"""Target and element type."""


@cache
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def product(tile, dtype, result):
    """``c = a b`` with ``a: [K, M]`` and ``b: [K, N]``, four waves."""
    constraints = [
        tkw.WorkgroupConstraint(M, tile[0], 0),
        tkw.WorkgroupConstraint(N, tile[1], 1),
        tkw.TilingConstraint(K, tile[2]),
        tkw.WaveConstraint(M, tile[0] // 2),
        tkw.WaveConstraint(N, tile[1] // 2),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def across(
        a: tkl.Memory[K, M, SHARED, dtype],
        b: tkl.Memory[K, N, SHARED, dtype],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, result],
    ) -> None:
        zero = tkl.Register[M, N, result](0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, result]) -> tkl.Register[M, N, result]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return across


def compiled(sizes, tile, dtype, target, **options):
    """The kernel, and operands for it."""
    result = tkl.f32 if dtype.is_float else tkl.i32
    subs = dict(zip((M, N, K), sizes, strict=True))
    asked = tkl.WaveCompileOptions(subs=subs, target=target, **options)
    kernel = wave_compile(asked, product(tile, dtype, result), session=session())
    rng = np.random.default_rng(0)
    m, n, k = sizes
    a, b = (4 * rng.standard_normal((k, side)) for side in (m, n))
    a, b = (x.astype(np.float32).astype(dtype.numpy()) for x in (a, b))
    return kernel, [a, b, np.zeros((m, n), result.numpy())]


def error(arguments):
    """The largest difference from the product in f64, relative to the largest."""
    a, b, c = (array.astype(np.float64) for array in arguments)
    return np.abs(c - a.T @ b).max() / np.abs(a.T @ b).max()


@pytest.mark.covering(2)
@pytest.mark.parametrize(("target", "dtype"), ROWS)
@pytest.mark.parametrize("sizes", [(128, 128, 128), (133, 72, 67), (130, 70, 40)])
def test_right_and_without_hazards(target, dtype, sizes):
    kernel, arguments = compiled(
        sizes, (64, 64, 32), dtype, target, device="emulator", poison_outputs=True
    )
    kernel(*arguments)
    assert kernel.last_run.reports == ()
    assert error(arguments) < 1e-5


@pytest.mark.parametrize(
    ("target", "dtype"), [("gfx942", tkl.f16), ("gfx950", tkl.f16)]
)
@pytest.mark.parametrize("tile", [(128, 128, 32), (128, 128, 64)])
def test_no_bank_conflicts(target, dtype, tile):
    # What `auto` copies to LDS directly lies there as it comes.
    sizes = (tile[0], tile[1], 128)
    kernel, arguments = compiled(sizes, tile, dtype, target, preset="default")
    artifact = compile_graph(kernel.graph, kernel.compiled.target).artifact
    options = LaunchOptions(counters=True)
    result = emulate(load(artifact.code), arguments, grid=(1, 1, 1), options=options)
    assert result.reports == ()
    assert error(arguments) < 1e-5
    samples = result.meter.samples.values()
    assert sum(sample.lds_cycles for sample in samples) > 0
    assert sum(sample.lds_cycles - sample.lds_ideal for sample in samples) == 0


def test_a_pair_of_halves_takes_one_instruction():
    kernel, _ = compiled((128, 128, 32), (128, 128, 32), tkl.f16, "gfx942")
    target, settings = kernel.compiled.target, Settings(intermediates=True)
    text = compile_graph(kernel.graph, target, settings).assembly
    assert text.count("v_perm_b32") == 16
    assert not {"ds_read_u16", "ds_write_b16"} & set(text.split())


@pytest.mark.parametrize(("dtype", "name"), [(tkl.f16, "b16"), (tkl.f8e4m3fn, "b8")])
def test_the_instruction_of_gfx950(dtype, name):
    kernel, _ = compiled((64, 64, 32), (64, 64, 32), dtype, "gfx950")
    target, settings = kernel.compiled.target, Settings(intermediates=True)
    text = compile_graph(kernel.graph, target, settings).assembly
    count = 2 * 2 * 32 * 32 // 64 * dtype.bits // 64 // 2
    assert text.count(f"ds_read_b64_tr_{name} ") == count
