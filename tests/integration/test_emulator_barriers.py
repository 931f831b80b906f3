"""Each barrier that the compiler leaves is needed: without it there is a race."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import wave_core.lang as tkl
from wave_backend_amdgpu.compile.backend import compile_graph
from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.kernels import make_case
from wave_core.executors import LaunchRequest
from wave_core.ir import erase
from wave_core.ops.sync import (
    SharedMemoryBarrier,
    SharedMemoryBarrierSignal,
    SharedMemoryBarrierWait,
)
from wave_emulator_amdgcn import emulate, load

GEMM = ("gemm", {"M": 128, "N": 128, "K": 96}, {})
ATTENTION = (
    "attention", {"B": 1, "M": 128, "K1": 64, "N": 64, "K2": 96}, {"BLOCK_N": 64},
)  # fmt: skip
BARRIERS = (SharedMemoryBarrier, SharedMemoryBarrierSignal)


@pytest.fixture(scope="module", name="session")
def _session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def staged(session, row, target):
    """A case with its arguments in ``SHARED``, and its compiled kernel."""
    name, sizes, settings = row
    case = make_case(session.plugins.load_kernel(name), name, sizes, settings, target)
    subs = {**case.options.subs, tkl.sym.ADDRESS_SPACE: tkl.SHARED_ADDRESS_SPACE}
    options = replace(case.options, subs=subs, device="sim", preset="default")
    return case, wave_compile(options, case.kernel, session=session)


def barriers_of(graph):
    """The barriers; of one in two halves, both."""
    ops = list(graph.walk())
    waits = [op for op in ops if isinstance(op, SharedMemoryBarrierWait)]
    found = []
    for op in ops:
        if isinstance(op, SharedMemoryBarrier):
            found.append((op,))
        elif isinstance(op, SharedMemoryBarrierSignal):
            found.append((op, waits.pop(0)))
    return found


def without(graph, index):
    """The graph with one barrier taken out."""
    copy = graph.clone()
    for op in barriers_of(copy)[index]:
        erase(op)
    return copy


def lane_reports(session, case, graph, target):
    arguments = list(case.make_arguments(np.random.default_rng(0)))
    executor = session.plugins.load_executor("sim")
    result = executor.launch(LaunchRequest.of(graph, target, arguments))
    return {row.code for row in result.reports}


def machine_reports(case, graph, target):
    arguments = list(case.make_arguments(np.random.default_rng(0)))
    code = load(compile_graph(graph, target).artifact.code)
    return {row.code for row in emulate(code, arguments, grid=(1, 1, 1)).reports}


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1201"])
@pytest.mark.parametrize("row", [GEMM, ATTENTION], ids=["gemm", "attention"])
def test_on_lanes(session, row, target):
    case, kernel = staged(session, row, target)
    graph, chip = kernel.graph, kernel.compiled.target
    barriers = barriers_of(graph)
    assert len(barriers) == 2
    assert lane_reports(session, case, graph, chip) == set()
    for index in range(len(barriers)):
        assert "WV0901" in lane_reports(session, case, without(graph, index), chip)


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1201"])
def test_in_machine_code(session, target):
    case, kernel = staged(session, GEMM, target)
    graph, chip = kernel.graph, kernel.compiled.target
    assert machine_reports(case, graph, chip) == set()
    for index in range(len(barriers_of(graph))):
        assert "EM0501" in machine_reports(case, without(graph, index), chip)
