"""From options and a kernel to something that can be called."""

from __future__ import annotations

import cProfile
import os
import subprocess
import sys
import traceback
from dataclasses import replace

import numpy as np
import pytest
import torch

import wave_core.lang as tkw
from wave_core.compile import Config, WaveCompileOptions, wave_compile
from wave_core.diagnostics import (
    LaunchError,
    Severity,
    SimulationError,
    UserError,
    WaveError,
    make_diagnostic,
)

MEMO_CALLS = 120
"""Calls of functions that finding a compiled kernel may take."""


def options(tiles, **fields):
    return WaveCompileOptions(subs=tiles | {"M": 33, "N": 65}, **fields)


def halves(*shape):
    return torch.randn(*shape).half()


def test_runs_and_records(make_session, copy_kernel, tiles):
    kernel = wave_compile(options(tiles), copy_kernel, session=make_session())
    a, b = halves(33, 65), halves(33, 65)
    assert kernel(a, b) is None
    assert torch.equal(a, b)
    assert kernel.last_run.grid == (2, 3)
    assert kernel.last_run.counters == {"copied": 33 * 65}
    assert kernel.last_run.device == "sim"


def test_dynamic_sizes_come_from_the_arguments(make_session, copy_kernel, tiles):
    given = WaveCompileOptions(subs=tiles, dynamic_symbols=["M", "N"])
    kernel = wave_compile(given, copy_kernel, session=make_session())
    for shape in ((1, 1), (40, 130)):
        kernel(halves(*shape), halves(*shape))
        assert kernel.last_run.sizes == dict(zip("MN", shape, strict=True))
    assert kernel.last_run.grid == (3, 3)


def test_python_shows_a_mistake_from_the_call_on(make_session):
    @tkw.wave([tkw.HardwareConstraint()])
    def wrong(a: tkw.Memory[tkw.sym.M, tkw.GLOBAL_ADDRESS_SPACE, tkw.i32]):
        tkw.write(tkw.read(a) / 2, a)

    with pytest.raises(UserError, match="WV0205") as found:
        wave_compile(options({}), wrong, session=make_session())
    frames = traceback.extract_tb(found.value.__traceback__)
    assert [frame.name for frame in frames[1:]] == ["wave_compile"]


def test_numpy_alone(make_session, copy_kernel, tiles):
    kernel = wave_compile(options(tiles), copy_kernel, session=make_session())
    a = np.ones((33, 65), dtype=np.float16)
    b = np.zeros((66, 65), dtype=np.float16)
    kernel(a, b[::2])
    assert np.array_equal(b[::2], a)
    assert not b[1::2].any()


def test_empty_grid_launches_nothing(make_session, copy_kernel, tiles):
    given = WaveCompileOptions(subs=tiles, dynamic_symbols=["M", "N"])
    kernel = wave_compile(given, copy_kernel, session=make_session())
    kernel(halves(0, 5), halves(0, 5))
    assert make_session.calls() == []
    assert kernel.last_run.grid == (1, 0)


def test_failed_launch_runs_nothing(make_session, copy_kernel, tiles):
    kernel = wave_compile(options(tiles), copy_kernel, session=make_session())
    with pytest.raises(LaunchError):
        kernel(halves(33, 65), halves(33, 64))
    with pytest.raises(LaunchError) as caught:
        kernel(a=halves(33, 65))
    assert "takes 2 arguments, 1 were given" in str(caught.value)
    assert make_session.calls() == []
    assert kernel.last_run is None


def test_executor_gets_target_and_checks(make_session, copy_kernel, tiles):
    given = options(tiles, checks=("races",), poison_outputs=True)
    kernel = wave_compile(given, copy_kernel, session=make_session())
    kernel(halves(33, 65), halves(33, 65))
    (request,) = make_session.calls()
    assert request.graph is kernel.graph
    assert request.target.name == "generic"
    assert request.settings.checks == {"races"}
    assert request.settings.poison_outputs == {"b"}


def test_executor_gets_the_rules_of_plugins(make_session, copy_kernel, tiles):
    session = make_session()
    kernel = wave_compile(options(tiles), copy_kernel, session=session)
    kernel(halves(33, 65), halves(33, 65))
    (request,) = make_session.calls()
    assert request.settings.lowerings is session.plugins.lowering_table("sim")
    assert request.settings.lowerings.backend == "sim"


@pytest.mark.parametrize("severity", list(Severity))
def test_findings_of_the_device(make_session, copy_kernel, tiles, severity):
    session = make_session()
    found = make_diagnostic("WV0901", "two waves race", severity=severity)
    make_session.reports().append(found)
    kernel = wave_compile(options(tiles), copy_kernel, session=session)
    if severity is Severity.ERROR:
        with pytest.raises(SimulationError) as caught:
            kernel(halves(33, 65), halves(33, 65))
        assert caught.value.diagnostics == (found,)
    else:
        kernel(halves(33, 65), halves(33, 65))
        assert kernel.last_run.reports == (found,)


def test_automatic_device_is_announced_once(make_session, copy_kernel, tiles):
    session = make_session()
    kernel = wave_compile(options(tiles), copy_kernel, session=session)
    for _ in range(2):
        kernel(halves(33, 65), halves(33, 65))
    assert len(session.said) == 1
    assert "simulator `sim`" in session.said[0]


def test_chosen_device_is_not_announced(make_session, copy_kernel, tiles):
    session = make_session()
    kernel = wave_compile(options(tiles, device="sim"), copy_kernel, session=session)
    kernel(halves(33, 65), halves(33, 65))
    assert session.said == []


def test_cost_limit(make_session, copy_kernel, tiles):
    session = make_session()
    small = options(tiles, cost_limit=100)
    kernel = wave_compile(small, copy_kernel, session=session)
    with pytest.raises(LaunchError) as caught:
        kernel(halves(33, 65), halves(33, 65))
    assert caught.value.code == "WV0720"
    assert "device='sim'" in str(caught.value)
    for way_out in (replace(small, device="sim"), replace(small, cost_limit=None)):
        wave_compile(way_out, copy_kernel, session=session)(
            halves(33, 65), halves(33, 65)
        )


def test_cost_grows_with_the_problem(make_session, copy_kernel, tiles):
    given = WaveCompileOptions(subs=tiles, dynamic_symbols=["M", "N"])
    kernel = wave_compile(given, copy_kernel, session=make_session())
    one = kernel.cost({"M": 16, "N": 64})
    assert one > 0
    assert kernel.cost({"M": 64, "N": 128}) == 8 * one


def test_memo_answers_without_tracing(make_session, copy_kernel, tiles):
    session = make_session()
    one = wave_compile(options(tiles), copy_kernel, session=session)
    other = wave_compile(options(tiles), copy_kernel, session=session)
    assert one is not other
    assert one.graph is other.graph
    again = wave_compile(options(tiles, verify_each=True), copy_kernel, session=session)
    assert again.graph is not one.graph


def test_memo_looks_at_options_once(make_session, copy_kernel, tiles):
    session, given = make_session(), options(tiles)
    wave_compile(given, copy_kernel, session=session)
    profile = cProfile.Profile()
    wave_compile(given, copy_kernel, session=session)
    profile.runcall(wave_compile, given, copy_kernel, session=session)
    calls = sum(row.callcount for row in profile.getstats())
    assert calls < MEMO_CALLS


SCALE = 2.0


def scaled(a):
    return a * SCALE


def test_changed_global_compiles_anew(make_session, tiles, monkeypatch):
    session = make_session()
    M, N = tkw.sym.M, tkw.sym.N
    rows = [
        tkw.HardwareConstraint(threads_per_wave=64),
        tkw.WorkgroupConstraint(M, 16, 0),
    ]

    @tkw.wave(rows)
    def kernel(
        a: tkw.Memory[M, N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32],
        b: tkw.Memory[M, N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32],
    ):
        tkw.write(scaled(tkw.read(a)), b)

    given = WaveCompileOptions(subs={"M": 16, "N": 64})
    one = wave_compile(given, kernel, session=session)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    other = wave_compile(given, kernel, session=session)
    assert one.graph is not other.graph
    assert one.key != other.key


def test_cache_can_be_turned_off(make_session, copy_kernel, tiles):
    session = make_session(Config(cache=False))
    one = wave_compile(options(tiles), copy_kernel, session=session)
    assert (
        wave_compile(options(tiles), copy_kernel, session=session).graph
        is not one.graph
    )


def test_one_options_object_compiles_any_number(make_session, copy_kernel, tiles):
    session, given = make_session(), options(tiles)
    before = given.describe()
    kernels = [wave_compile(given, copy_kernel, session=session) for _ in range(3)]
    assert given.describe() == before
    assert len({kernel.key for kernel in kernels}) == 1


KEY = """
import sys
import wave_core.lang as tkw
from wave_core.compile import Session, WaveCompileOptions, wave_compile
from wave_core.plugin import ExecutorSpec, hookimpl
import types

@hookimpl
def wave_register_executors():
    yield ExecutorSpec("sim", "nowhere:Nothing")

plugin = types.ModuleType("toy")
plugin.REQUIRES_API = (1, 0)
plugin.wave_register_executors = wave_register_executors
M, N = tkw.sym.M, tkw.sym.N
rows = [tkw.HardwareConstraint(threads_per_wave=64), tkw.WorkgroupConstraint(M, 16, 0)]

@tkw.wave(rows)
def copy(a: tkw.Memory[M, N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f16],
         b: tkw.Memory[M, N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f16]):
    tkw.write(tkw.read(a), b)

given = WaveCompileOptions(subs={"M": 33, "N": 65}, checks=("races", "bounds"))
session = Session({"toy": plugin}, entry_points=())
sys.stdout.write(wave_compile(given, copy, session=session).key)
"""


def test_key_is_the_same_in_every_process():
    keys = {
        subprocess.run(
            [sys.executable, "-c", KEY],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    (key,) = keys
    assert len(key) == 64


def test_snapshots_of_phases(make_session, copy_kernel, tiles):
    kernel = wave_compile(options(tiles), copy_kernel, session=make_session())
    infer, expand = kernel.snapshots("infer"), kernel.snapshots("expand")
    assert "indexed" not in infer.facts_present
    assert "expanded" in expand.facts_present
    assert kernel.snapshots("synchronize").facts_present == kernel.graph.facts_present
    assert str(kernel.snapshots("synchronize")) == str(kernel.graph)
    with pytest.raises(UserError):
        kernel.snapshots("nonsense")


def test_what_a_kernel_tells(make_session, copy_kernel, tiles):
    kernel = wave_compile(options(tiles), copy_kernel, session=make_session())
    assert [str(row) for row in kernel.parameters] == ["a: f16[M, N]", "b: f16[M, N]"]
    assert [row.is_output for row in kernel.parameters] == [False, True]
    assert "grid 2 x 3 workgroups" in kernel.explain()
    assert kernel.pipeline[0].name == "number-loops"
    assert all(row.reason for row in kernel.pipeline)
    assert kernel.timings.total_s >= kernel.timings.trace_s > 0
    assert "synchronized" not in kernel.trace_graph.facts_present


BAD = [
    ({"BLOCK_M": None}, {}, "WV0301", "`BLOCK_M`"),
    ({"ADDRESS_SPACE": None}, {}, "WV0301", "`ADDRESS_SPACE`"),
    ({"M": None}, {}, "WV0301", "dynamic_symbols=[M]"),
    ({}, {"dynamic_symbols": ["M"]}, "WV0822", "dynamic"),
    (
        {"BLOCK_N": None},
        {"dynamic_symbols": ["BLOCK_N"]},
        "WV0717",
        "size of no argument",
    ),
    ({"BLOCK_M": 0}, {}, "WV0316", "not positive"),
    ({}, {"schedule": "MODULO"}, "WV0824", "wave-passes-scheduling"),
    ({}, {"waves_per_eu": 2}, "WV0824", "wave-backend-amdgpu"),
    ({}, {"use_global_to_shared": True}, "WV0824", "wave-passes-memory"),
    ({}, {"plugin_options": {"nope": 1}}, "WV0803", "nope"),
    ({}, {"preset": "fast"}, "WV0801", "naive"),
    ({}, {"target": "gfx000"}, "WV0701", "generic"),
    ({}, {"device": "hip"}, "WV0719", "wave-backend-amdgpu"),
    ({}, {"device": "smi"}, "WV0719", "did you mean `sim`"),
    ({}, {"passes": "infer-tipes"}, "WV0801", "infer-types"),
    ({}, {"passes": "infer-types{x=1}"}, "WV0803", "`x`"),
    ({}, {"print_ir_after": "nope"}, "WV0801", "print_ir_after"),
    ({}, {"disable_passes": "infer-types,nope"}, "WV0801", "nope"),
]


@pytest.mark.parametrize(("subs", "fields", "code", "says"), BAD)
def test_bad_compilations(make_session, copy_kernel, tiles, subs, fields, code, says):
    bound = {
        k: v for k, v in (tiles | {"M": 33, "N": 65} | subs).items() if v is not None
    }
    with pytest.raises(WaveError) as caught:
        wave_compile(
            WaveCompileOptions(subs=bound, **fields),
            copy_kernel,
            session=make_session(),
        )
    assert caught.value.code == code
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "who"),
    [
        (
            {"disable_passes": "sink-splats,assign-layouts"},
            "option disable_passes disables pass",
        ),
        ({"pipeline": "number-loops,infer-types"}, "option pipeline disables pass"),
    ],
)
def test_essential_passes_stay(make_session, copy_kernel, tiles, fields, who):
    given = options(tiles, **fields)
    with pytest.raises(UserError, match="`assign-layouts`") as caught:
        wave_compile(given, copy_kernel, session=make_session())
    assert caught.value.code == "WV0828"
    assert who in str(caught.value)


def test_a_device_may_stop_early_and_asks_for_what_holds_there(
    make_session, copy_kernel, tiles
):
    from wave_core.plugin.registry import Registered

    session = make_session(sim=frozenset({"expanded"}))
    row = session.plugins.executors["sim"]
    early = replace(row.value, stop_after="infer")
    session.plugins.executors = {"sim": Registered(early, row.provider)}
    with pytest.raises(UserError, match="after `infer`, where") as caught:
        wave_compile(options(tiles), copy_kernel, session=session)
    assert caught.value.code == "WV0813"


def test_device_that_needs_more_facts(make_session, copy_kernel, tiles):
    session = make_session(sim=frozenset({"allocated"}))
    with pytest.raises(UserError) as caught:
        wave_compile(options(tiles), copy_kernel, session=session)
    assert caught.value.code == "WV0813"
    assert "device `sim`" in str(caught.value)


@pytest.mark.parametrize("arguments", [("swap",), ("function",)])
def test_what_is_no_kernel(copy_kernel, tiles, arguments):
    kernel = copy_kernel.function if arguments == ("function",) else options(tiles)
    given = options(tiles) if arguments == ("function",) else copy_kernel
    with pytest.raises(UserError) as caught:
        wave_compile(given, kernel)
    assert caught.value.code == "WV0826"


def test_printing_and_timing_go_to_stderr(make_session, copy_kernel, tiles, capsys):
    given = options(
        tiles, print_ir_after="infer", print_ir_before="expand-tiles", timing=True
    )
    wave_compile(given, copy_kernel, session=make_session())
    out, err = capsys.readouterr()
    assert out == ""
    assert "after phase infer" in err
    assert "before expand-tiles" in err
    assert "ms  trace" in err


IMPORT = """
import sys
import wave_core.compile
from wave_core.compile import Session, WaveCompileOptions
WaveCompileOptions(subs={"M": 1})
Session()
print([name for name in ("torch", "sympy", "numpy") if name in sys.modules])
"""


def test_options_and_sessions_load_nothing_heavy():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"WAVE_CACHE": "on"},
    )
    assert done.stdout.strip() == "[]"
