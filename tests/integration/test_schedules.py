"""Every strategy on every kernel with a loop: the same result on all trip counts.

Both simulators report races, reads of unwritten memory and accesses out of bounds as
errors, so a result that is right was reached without any. Each kernel's reference does
not know of schedules; the last tile of each loop is cut.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scheduled_cases import (
    DIRECT,
    EXAMPLES,
    LOOPS,
    SHORTEST,
    STRATEGIES,
    TRIPS,
    run_example,
)

from wave_core.compile import Session, run_case
from wave_kernels.cases.softmax import softmax_case

CHIPS = ("gfx950", "gfx1201")
DEVICES = ("sim", "emulator")
FEW = ("gemm-shared", "gemm-staged-open", "attention-heads")
"""One of each sort, for what all of them would take too long for."""


@pytest.fixture(scope="module")
def session():
    return Session(announce=lambda _: None)


def trips_of(name):
    return [trips for trips in TRIPS if trips >= LOOPS[name].least]


ALL = [(name, trips) for name in LOOPS for trips in trips_of(name)]
LAUNCHES = [
    (name, trips)
    for name in EXAMPLES
    for trips in TRIPS
    if trips >= SHORTEST.get(name, 1)
]
PIPELINED = [
    (strategy, name)
    for strategy in STRATEGIES
    for name in LOOPS
    if strategy != "prefetch-attention" or name.startswith("attention")
]
"""A strategy for two products leaves loops with one, and writes no file."""


@pytest.mark.covering(1)
@pytest.mark.parametrize(("name", "trips"), ALL)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_lanes(session, strategy, name, trips):
    LOOPS[name].run(session, trips, "gfx942", "sim", preset=strategy)


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_machine_code(session, name, strategy):
    LOOPS[name].run(session, 4, "gfx942", "emulator", preset=strategy)


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_machine_code_of_other_chips(session, strategy, name, chip):
    LOOPS[name].run(session, 5, chip, "emulator", preset=strategy)


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_examples(name, strategy, monkeypatch):
    run_example(name, 5, monkeypatch, "gfx942", device="sim", preset=strategy)


@pytest.mark.parametrize("name", EXAMPLES)
def test_machine_code_of_examples(name, monkeypatch):
    run_example(name, 4, monkeypatch, "gfx942", device="emulator", preset="modulo")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_kernel_without_a_loop(session, strategy):
    case = softmax_case({}, {}, "generic")
    options = replace(case.options, device="sim", preset=strategy)
    assert run_case(case, options=options, session=session, seed=0).wrong == 0


# ---- schedules from files


def follow(session, name, strategy, trips, folder, device):
    """Follow the file that a strategy wrote, with another trip count."""
    path = str(folder / f"{name}.txt")
    loop = LOOPS[name]
    loop.run(session, 9, "gfx942", "sim", preset=strategy, dump_schedule=path)
    loop.run(session, trips, "gfx942", device, override_schedule=path)


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("strategy", ["prefetch", "four-stage", "modulo"])
def test_files(session, name, strategy, tmp_path):
    follow(session, name, strategy, 5, tmp_path, "sim")


# ---- without an epilogue, unrolled, with other numbers of buffers

SHAPES = [
    {"eliminate_epilogue": True},
    {"unroll_factor": 2},
    {"eliminate_epilogue": True, "unroll_factor": 3, "multi_buffer_count": 3},
    {"multi_buffer_count": 1},
    {"use_scheduling_barriers": True, "multi_buffer_count": 2},
]


@pytest.mark.covering(1)
@pytest.mark.parametrize("options", SHAPES, ids="-".join)
@pytest.mark.parametrize("name", FEW)
def test_shapes_of_the_loop(session, name, options):
    for trips, strategy in ((2, "prefetch"), (5, "modulo")):
        LOOPS[name].run(session, trips, "gfx942", "sim", preset=strategy, **options)
    LOOPS[name].run(session, 4, "gfx942", "emulator", preset="prefetch", **options)


@pytest.mark.parametrize("trips", [1, 4])
@pytest.mark.parametrize("device", DEVICES)
def test_copies_direct_to_lds_stop_at_the_end(session, device, trips):
    options = {"use_global_to_shared": True, "eliminate_epilogue": True}
    DIRECT.run(session, trips, "gfx950", device, preset="four-stage", **options)
    options |= {"multi_buffer_count": 2}
    DIRECT.run(session, trips, "gfx950", device, preset="prefetch", **options)


# ---- in full


@pytest.mark.fuzz
@pytest.mark.parametrize(("name", "trips"), ALL)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_machine_code_in_full(session, name, strategy, trips):
    LOOPS[name].run(session, trips, "gfx942", "emulator", preset=strategy)


@pytest.mark.fuzz
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("name", "trips"), ALL)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_other_chips_in_full(session, name, strategy, trips, chip):
    LOOPS[name].run(session, trips, chip, "sim", preset=strategy)
    if trips in {2, 5}:
        LOOPS[name].run(session, trips, chip, "emulator", preset=strategy)


@pytest.mark.fuzz
@pytest.mark.parametrize(("name", "trips"), LAUNCHES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_examples_in_full(name, strategy, trips, monkeypatch):
    for device in DEVICES:
        with monkeypatch.context() as patch:
            run_example(name, trips, patch, "gfx942", device=device, preset=strategy)


@pytest.mark.fuzz
@pytest.mark.parametrize("trips", [1, 2, 4, 5])
@pytest.mark.parametrize(("strategy", "name"), PIPELINED)
def test_files_in_full(session, name, strategy, trips, tmp_path):
    for device in DEVICES:
        follow(session, name, strategy, trips, tmp_path, device)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(200))
def test_random_shapes_of_the_loop(session, seed):
    """Any strategy, factor, number of buffers, with and without an epilogue."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(sorted(LOOPS)))
    target = str(rng.choice(["gfx942", *CHIPS]))
    trips = int(rng.integers(LOOPS[name].least, 12))
    options = {
        "preset": str(rng.choice(STRATEGIES)),
        "unroll_factor": int(rng.integers(1, 5)),
        "eliminate_epilogue": bool(rng.integers(2)),
        "use_scheduling_barriers": bool(rng.integers(2)),
        "multi_buffer_count": [None, 1, 2, 3][rng.integers(4)],
    }
    for device in DEVICES:
        LOOPS[name].run(session, trips, target, device, **options)
