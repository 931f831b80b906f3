"""Barriers of the double-buffered product of 128 by 128 by 32: one per iteration."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import wave_core.lang as tkl
from wave_core.compile import Session, run_case
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case

TILES = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32}
MATRIX_OPS = 32
"""Of a wave in one iteration: 64 by 64 by 32 on instructions of 16 by 16 by 16."""

DOUBLE = [
    {"preset": "prefetch", "multi_buffer_count": 2},
    {"preset": "prefetch", "multi_buffer_count": 2, "eliminate_epilogue": True},
    {"preset": "four-stage"},
]


@pytest.fixture(scope="module")
def session():
    return Session(announce=lambda _: None)


def product(session, trips, options):
    """The case, and its options with arguments that go through LDS."""
    factory = session.plugins.load_kernel("gemm")
    shape = {"M": 128, "N": 128, "K": 32 * trips}
    case = make_case(factory, "gemm", shape, TILES, "gfx942")
    subs = {**case.options.subs, tkl.sym.ADDRESS_SPACE: tkl.SHARED_ADDRESS_SPACE}
    return case, replace(case.options, subs=subs, device="sim", **options)


def turns(assembly):
    """The lines of the loops, from label to branch."""
    lines = assembly.splitlines()
    for end, line in enumerate(lines):
        found = re.match(r"\ts_c?branch\w* (\.L\w+)$", line)
        start = f"{found[1]}:" if found else None
        if start is not None and start in lines[:end]:
            yield lines[lines.index(start) : end]


@pytest.mark.parametrize("options", DOUBLE)
def test_the_simulator_counts_one_per_wave_and_iteration(session, options):
    case, given = product(session, 6, options)
    report = run_case(case, options=given, session=session, seed=0)
    assert report.wrong == 0
    assert report.kernel.last_run.reports == ()
    counters = report.record.counters
    assert counters["instructions"]["barrier"] == 6 * counters["waves"]


@pytest.mark.parametrize("options", DOUBLE)
def test_the_machine_code_has_one_for_each_iteration(session, options):
    case, given = product(session, 40, options)
    (text,) = emit(given, case.kernel, "asm", session).files.values()
    (loop,) = turns(text.decode())
    matrix_ops = sum("v_mfma" in line for line in loop)
    iterations, rest = divmod(matrix_ops, MATRIX_OPS)
    assert iterations > 0
    assert rest == 0
    assert sum("s_barrier" in line for line in loop) == iterations
    assert not any("scratch" in line for line in loop)


def test_one_buffer_takes_two(session):
    case, given = product(session, 6, {"preset": "prefetch"})
    report = run_case(case, options=given, session=session, seed=0)
    counters = report.record.counters
    assert counters["instructions"]["barrier"] > 6 * counters["waves"]
