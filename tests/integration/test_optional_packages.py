"""Kernels are right without the packages of passes, and without any one pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kernel_shapes import ENOUGH
from programs import PROGRAMS, distance

import wave_core.lang as tkw
import wave_kernels.plugin as kernels
import wave_passes_memory.plugin as memory
import wave_passes_scheduling.plugin as scheduling
import wave_sim_cpu.plugin as simulator
from wave_core.compile import Session, run_case, wave_compile
from wave_core.compile.kernels import make_case
from wave_kernels.plugin import KERNELS

ALONE = {"kernels": kernels, "sim": simulator}
WITHOUT = {
    "both": ALONE,
    "memory": ALONE | {"passes_scheduling": scheduling},
    "scheduling": ALONE | {"passes_memory": memory},
}
"""What is installed, by the package that is not."""

PASSES = [
    spec.name
    for plugin in (memory, scheduling)
    for spec in plugin.wave_register_passes()
]
SHARED = {tkw.sym.ADDRESS_SPACE: tkw.SHARED_ADDRESS_SPACE}


@pytest.fixture(name="build")
def _build(monkeypatch):
    """Build an example in a session, with options changed and arguments staged."""

    def build(program, session, **changes):
        def compile_staged(options, kernel, *more):
            asked = replace(options, subs={**options.subs, **SHARED}, **changes)
            return wave_compile(asked, kernel, *more, session=session)

        monkeypatch.setattr(tkw, "wave_compile", compile_staged, raising=False)
        return program.build()

    return build


def check(program, built):
    kernel, tensors, expected = built
    tensors[-1].fill_(float("nan"))
    kernel(*tensors)
    assert distance(tensors[-1], expected) <= program.tolerance
    assert kernel.last_run.reports == ()


# Two loops with buffers of their own: smaller tiles fit without the pass that packs.
SETTINGS = {"gemm-stream-k": {"BLOCK_M": 64, "BLOCK_N": 64}}


def staged(session, name):
    settings = SETTINGS.get(name, {})
    factory = session.plugins.load_kernel(name)
    case = make_case(factory, name, ENOUGH.get(name, {}), settings, "generic")
    subs = {**case.options.subs, **SHARED}
    return case, replace(case.options, subs=subs, device="sim", poison_outputs=True)


@pytest.mark.covering(1)
@pytest.mark.parametrize("absent", WITHOUT)
@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_without_a_package(name, absent, build):
    session = Session(WITHOUT[absent], entry_points=())
    check(PROGRAMS[name], build(PROGRAMS[name], session))


@pytest.mark.covering(1, "absent")
@pytest.mark.parametrize("absent", WITHOUT)
@pytest.mark.parametrize("spec", KERNELS, ids=lambda spec: spec.name)
def test_library_without_a_package(spec, absent):
    session = Session(WITHOUT[absent], entry_points=())
    case, options = staged(session, spec.name)
    report = run_case(case, options=options, session=session, seed=3)
    assert report.passed, report.to_json()


@pytest.mark.filterwarnings("ignore")  # a loop that stays as it is says so
@pytest.mark.covering(1)
@pytest.mark.parametrize("disabled", PASSES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_without_a_pass(name, disabled, build):
    session = Session(ALONE | {"m": memory, "s": scheduling}, entry_points=())
    options = {"disable_passes": (disabled,), "preset": "prefetch"}
    check(PROGRAMS[name], build(PROGRAMS[name], session, **options))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.covering(1, "disabled")
@pytest.mark.parametrize("disabled", PASSES)
@pytest.mark.parametrize("spec", KERNELS, ids=lambda spec: spec.name)
def test_library_without_a_pass(spec, disabled):
    session = Session(ALONE | {"m": memory, "s": scheduling}, entry_points=())
    case, options = staged(session, spec.name)
    options = replace(options, disable_passes=(disabled,), preset="prefetch")
    report = run_case(case, options=options, session=session, seed=3)
    assert report.passed, report.to_json()
