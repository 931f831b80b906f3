"""The device ``emulator``: launches, options, hazards at the user's lines, refusals."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_amdgpu import executors
from wave_backend_amdgpu.emulation import HAZARDS, check_chip
from wave_backend_amdgpu.plugin import chips
from wave_core.compile import wave_compile
from wave_core.diagnostics import LaunchError, SimulationError
from wave_emulator_amdgcn import device
from wave_emulator_amdgcn.costs.estimate import estimate
from wave_emulator_amdgcn.errors import CODES

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SIZES = {M: 64, N: 64}


@tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint()])
def double(a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]):
    x = tkw.read(a)
    tkw.write(x + x, b)


FLOATS = tkl.Memory[N, GLOBAL, tkl.f32]


@tkw.thread(
    [
        tkw.WorkgroupConstraint(N, 64, 0),
        tkw.HardwareConstraint(threads_per_wave=32, waves_per_block=(2,)),
    ]
)
def unordered(a: FLOATS, b: FLOATS):
    t = tkw.thread_id(0)
    halves = tkw.allocate(64, dtype=tkl.f32)
    tkw.store(tkw.load(a, t), halves, t)
    tkw.wave_fence()
    tkw.store(tkw.load(halves, (t + 32) % 64), b, t)


def options(**more):
    given = {"subs": SIZES, "target": "gfx942", "device": "emulator"} | more
    return tkw.WaveCompileOptions(**given)


@pytest.fixture
def arrays():
    a = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    return a, np.full((64, 64), np.nan, np.float32)


def test_results_counters_and_cycles(session, arrays):
    a, b = arrays
    kernel = wave_compile(options(), double, session=session)
    kernel(a, b)
    assert (b == 2 * a).all()
    counters = kernel.last_run.counters
    assert counters["waves"] == 4
    assert counters["instructions"]["vmem"] > 0
    assert counters["memory_bytes"] == 2 * a.nbytes
    assert counters["cycles"]["total"] > 0
    assert counters["hazards"] == "0"


def test_cycles_are_estimated_once_they_are_asked_for(session, arrays, monkeypatch):
    estimates = []
    monkeypatch.setattr(
        device, "estimate", lambda *given: estimates.append(1) or estimate(*given)
    )
    kernel = wave_compile(options(), double, session=session)
    kernel(*arrays)
    assert estimates == []
    assert kernel.last_run.counters["cycles"]["total"] > 0
    assert kernel.last_run.counters["waves"] == 4
    assert estimates == [1]


def test_the_second_launch_compiles_nothing(session, arrays, monkeypatch):
    a, b = arrays
    kernel = wave_compile(options(), double, session=session)
    kernel(a, b)
    monkeypatch.setattr(executors, "compile_graph", None)
    b[...] = np.nan
    kernel(a, b)
    assert (b == 2 * a).all()


def test_a_race_names_the_load_and_the_write(session):
    a, b = np.zeros((2, 64), np.float32)
    given = options(subs={N: 64}, target="gfx1201")
    with pytest.raises(SimulationError) as caught:
        wave_compile(given, unordered, session=session)(a, b)
    (found,) = caught.value.diagnostics
    lines, first = inspect.getsourcelines(unordered.function)
    load, stored = (
        first + next(k for k, line in enumerate(lines) if text in line)
        for text in ("(t + 32)", "tkw.load(a, t)")
    )
    assert (found.code, found.location.line) == ("WV0901", load)
    assert any(f"from test_emulation.py:{stored}" in note for note in found.notes)


def test_without_checks_nothing_is_looked_for(session, arrays):
    kernel = wave_compile(options(checks=False), double, session=session)
    kernel(*arrays)
    assert kernel.last_run.counters["hazards"] == "not looked for"


def test_the_code_is_that_of_the_compile_options(session):
    @tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint()])
    def half(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.read(a) * 0.5, b)

    a = np.full((64, 64), np.float32(1e-38) / 4)
    for chosen, wanted in (("ieee", a / 2), ("preserve-sign", 0 * a)):
        b = np.ones((64, 64), np.float32)
        given = options(denorm_fp_math_f32=chosen)
        wave_compile(given, half, session=session)(a, b)
        assert (b == wanted).all()


def test_arrays_that_are_not_row_major_are_refused_and_never_copied(session, arrays):
    a, b = (np.asfortranarray(array) for array in arrays)
    with pytest.raises(LaunchError, match="row-major arrays only") as caught:
        wave_compile(options(), double, session=session)(a, b)
    assert {row.code for row in caught.value.diagnostics} == {"WV0709"}
    assert np.isnan(b).all()


def test_an_output_that_is_read_before_it_is_written(session):
    @tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint()])
    def add(a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]):
        tkw.write(tkw.read(a) + tkw.read(b), b)

    a, b = np.ones((64, 64), np.float32), np.ones((64, 64), np.float32)
    wave_compile(options(), add, session=session)(a, b)
    assert (b == 2).all()
    with pytest.raises(SimulationError) as caught:
        wave_compile(options(poison_outputs=True), add, session=session)(a, b)
    first = caught.value.diagnostics[0]
    assert first.code == "WV0905"
    assert first.primary.location.file == __file__
    assert first.primary.location.line == add_line(add)
    assert first.data["emulator"] == "EM0505"


def add_line(kernel):
    """The line of the only statement."""
    return kernel.function.__code__.co_firstlineno + 2


def test_a_target_that_is_no_chip(session):
    """Asked of the executor: beside other emulators, core refuses the target."""
    generic = session.plugins.load_target("generic")
    with pytest.raises(LaunchError, match="choose a chip as the target: gfx90a"):
        check_chip(generic, chips())


def test_a_chip_that_the_emulator_does_not_know(session, arrays):
    kernel = wave_compile(options(target="gfx1250"), double, session=session)
    with pytest.raises(LaunchError, match=r"WV0708.*EM0103"):
        kernel(*arrays)


def test_without_the_emulator(session, arrays, monkeypatch):
    monkeypatch.setattr(executors, "device_names", tuple)
    kernel = wave_compile(options(), double, session=session)
    with pytest.raises(LaunchError, match="pip install wave-emulator-amdgcn"):
        kernel(*arrays)


def test_every_hazard_and_error_has_a_code_of_wave():
    assert HAZARDS.keys() == {code for code in CODES if code.startswith("EM05")}


# ---- indices that come from memory

R, K = tkl.sym.R, tkl.sym.K


def gathers(inner):
    """Rows that a register chooses, with the second dim ``inner``."""
    i, j = (tkw.IndexMapping.iterator(k) for k in range(2))
    row = tkw.IndexMapping.dynamic_val(0)
    return tkw.IndexMapping(
        2,
        inputs={R: row, inner: j},
        outputs={M: i, inner: j},
        dynamic_val_mappings={M: i},
    )


@tkw.wave(
    [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.TilingConstraint(K, 16),
        tkw.HardwareConstraint(),
    ]
)
def gather_in_and_after_a_loop(
    a: tkl.Memory[R, K, GLOBAL, tkl.f32],
    b: tkl.Memory[R, N, GLOBAL, tkl.f32],
    at: tkl.Memory[M, GLOBAL, tkl.i32],
    c: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    row = tkw.read(at)

    @tkw.iterate(K, init_args=[tkl.Register[M, tkl.f32](0.0)])
    def total(acc: tkl.Register[M, tkl.f32]):
        some = tkw.read(a, mapping=gathers(K), mapping_dynamic_vals=(row,))
        return tkw.sum(some, acc, dim=K)

    more = tkw.read(b, mapping=gathers(N), mapping_dynamic_vals=(row,))
    tkw.write(more + tkw.broadcast(total, target_shape=[M, N]), c)


def test_one_register_chooses_rows_inside_a_loop_and_after_it(session):
    sizes = {M: 16, N: 16, R: 9, K: 64}
    kernel = wave_compile(
        options(subs=sizes), gather_in_and_after_a_loop, session=session
    )
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 9, (9, 64)).astype(np.float32)
    b = rng.integers(-9, 9, (9, 16)).astype(np.float32)
    at, c = rng.integers(0, 9, 16).astype(np.int32), np.zeros((16, 16), np.float32)
    kernel(a, b, at, c)
    assert (c == b[at] + a[at].sum(axis=1, keepdims=True)).all()
