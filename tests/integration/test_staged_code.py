"""Machine code of staged kernels: right, free of hazards and of bank conflicts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import wave_core.lang as tkl
from wave_backend_amdgpu.compile.backend import compile_graph
from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.kernels import make_case
from wave_core.executors import LaunchRequest
from wave_emulator_amdgcn import LaunchOptions, emulate, load

ROWS = [
    ("gemm", {"M": 128, "N": 128, "K": 96}, {}),
    ("gemm", {"M": 256, "N": 256, "K": 64}, {"BLOCK_M": 256, "BLOCK_N": 256}),
    ("attention", {"B": 1, "M": 128, "K1": 64, "N": 64, "K2": 64}, {"BLOCK_N": 64}),
    ("attention", {"B": 1, "M": 128, "K1": 128, "N": 128, "K2": 64}, {"BLOCK_N": 128}),
]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False))


def staged_case(session, name, shape, settings, target):
    """The case with its arguments in ``SHARED``."""
    case = make_case(session.plugins.load_kernel(name), name, shape, settings, target)
    subs = {**case.options.subs, tkl.sym.ADDRESS_SPACE: tkl.SHARED_ADDRESS_SPACE}
    options = dataclasses.replace(case.options, subs=subs, preset="default")
    return dataclasses.replace(case, options=options)


def lane_conflicts(session, kernel, arguments):
    """Cycles lost to bank conflicts, as the lane simulator counts."""
    executor = session.plugins.load_executor("sim")
    given = [array.copy() for array in arguments]
    target = kernel.compiled.target
    result = executor.launch(LaunchRequest.of(kernel.graph, target, given))
    return sum(result.counters.lds_conflict_cycles.values())


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize(("name", "shape", "settings"), ROWS)
def test_no_conflict_and_no_hazard(session, name, shape, settings, target):
    case = staged_case(session, name, shape, settings, target)
    kernel = wave_compile(case.options, case.kernel, session=session)
    artifact = compile_graph(kernel.graph, kernel.compiled.target).artifact
    arguments = list(case.make_arguments(np.random.default_rng(0)))
    before = [array.copy() for array in arguments]
    options = LaunchOptions(counters=True)
    result = emulate(load(artifact.code), arguments, grid=(1, 1, 1), options=options)
    assert result.reports == ()
    samples = result.meter.samples.values()
    assert sum(sample.lds_cycles for sample in samples) > 0
    assert sum(sample.lds_cycles - sample.lds_ideal for sample in samples) == 0
    assert lane_conflicts(session, kernel, before) == 0
    assert case.scale is not None
    (wanted,) = case.reference(before)
    error = np.abs(arguments[case.outputs[0]] - wanted).max()
    assert error <= case.tolerance * case.scale(before)
