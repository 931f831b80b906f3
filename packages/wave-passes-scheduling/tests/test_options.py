"""What users ask for: schedules, buffers, presets; and what they are told."""

from __future__ import annotations

import re

import pytest
from pipelined_kernels import biased_gemm, run_gemm, staged_gemm, statistics

import wave_core.lang as tkw
from wave_core.compile import SchedulingType
from wave_core.diagnostics import UserError
from wave_passes_scheduling.loops.costs import OCCUPIES, kind_of


def codes(error):
    return [row.code for row in error.value.diagnostics]


@pytest.mark.parametrize(
    ("schedule", "stages"),
    [(SchedulingType.PREFETCH, 2), (SchedulingType.FOUR_STAGE, 4)],
)
def test_the_option_chooses_the_strategy(schedule, stages):
    compiled, error = run_gemm(staged_gemm(), schedule=schedule)
    assert error < 1e-4
    assert statistics(compiled)["stages"] == stages


def test_without_the_option_nothing_is_scheduled():
    compiled, _ = run_gemm(staged_gemm())
    assert "stages" not in statistics(compiled)


def test_a_preset_is_a_strategy():
    compiled, error = run_gemm(staged_gemm(), preset="prefetch")
    assert error < 1e-4
    assert statistics(compiled)["stages"] == 2


@pytest.mark.parametrize("count", [1, 2, 3])
def test_buffers_are_multiplied_as_asked(count):
    compiled, error = run_gemm(
        staged_gemm(), schedule=SchedulingType.PREFETCH, multi_buffer_count=count
    )
    assert error < 1e-4
    shapes = [
        int(str(op.distributed_shape[0]))
        for op in compiled.compiled.lowered.walk()
        if op.op_name == "allocate"
    ]
    assert shapes == [32 * count] * 2


def test_buffers_that_do_not_fit_are_refused_with_what_fits():
    with pytest.raises(UserError, match=r"1000 copies .* take 2048000 bytes") as caught:
        run_gemm(
            staged_gemm(), schedule=SchedulingType.PREFETCH, multi_buffer_count=1000
        )
    assert codes(caught) == ["WV0406"]
    assert "multi_buffer_count=" in str(caught.value)


def test_other_buffers_count_for_what_fits():
    with pytest.raises(UserError, match=r"32 copies .*, and others beside") as caught:
        run_gemm(biased_gemm(), schedule=SchedulingType.PREFETCH, multi_buffer_count=32)
    assert codes(caught) == ["WV0406"]
    fits = int(re.search(r"multi_buffer_count=(\d+)", str(caught.value))[1])
    assert 1 < fits < 32
    compiled, error = run_gemm(
        biased_gemm(), schedule=SchedulingType.PREFETCH, multi_buffer_count=fits
    )
    assert error < 1e-4
    assert statistics(compiled)["multiplied_buffers"] == 2


def test_an_unknown_strategy_is_named():
    with pytest.raises(UserError, match="no scheduling strategy `prefech`") as caught:
        run_gemm(staged_gemm(), passes=["schedule-loops{strategy=prefech}"])
    assert codes(caught) == ["WV0801"]
    assert "did you mean `prefetch`?" in str(caught.value)


def test_an_interval_below_the_bounds_is_refused():
    with pytest.raises(UserError, match="interval 1 is below") as caught:
        run_gemm(staged_gemm(), passes=["schedule-loops{strategy=modulo,interval=1}"])
    assert codes(caught) == ["WV0504"]


def test_scheduling_barriers_stand_between_ops_of_different_units():
    compiled, error = run_gemm(
        staged_gemm(), schedule=SchedulingType.PREFETCH, use_scheduling_barriers=True
    )
    assert error < 1e-4
    (loop,) = (o for o in compiled.compiled.lowered.walk() if o.op_name == "iterate")
    ops = [op for op in loop.body.ops if op.op_name != "assemble"]
    found = [i for i, op in enumerate(ops) if op.op_name == "scheduling_barrier"]
    assert len(found) == statistics(compiled)["scheduling_barriers"] > 0
    sides = [(ops[i - 1], ops[i + 1]) for i in found]
    assert all(OCCUPIES[kind_of(a)] != OCCUPIES[kind_of(b)] for a, b in sides)


def test_a_loop_that_stays_as_it_is_says_why():
    compiled, error = run_gemm(
        staged_gemm(), (40, 33, 16), schedule=SchedulingType.FOUR_STAGE
    )
    assert error < 1e-4
    (warning,) = compiled.compiled.warnings
    assert warning.code == "WV0501"
    assert "fewer iterations than 3" in warning.message


def loops(compiled):
    """How many loops the code has."""
    found = [op.op_name for op in compiled.compiled.lowered.walk()]
    return found.count("iterate")


def test_a_remainder_is_kept_where_the_trip_count_is_open():
    compiled, error = run_gemm(
        staged_gemm(), schedule=SchedulingType.PREFETCH, dynamic=True
    )
    assert error < 1e-4
    assert loops(compiled) == 2


def bounded_gemm():
    k = tkw.sym.K
    return staged_gemm(tkw.Assumption(k >= 64))


def test_an_assumption_removes_guard_and_remainder():
    compiled, error = run_gemm(
        bounded_gemm(), schedule=SchedulingType.PREFETCH, dynamic=True
    )
    assert error < 1e-4
    assert loops(compiled) == 1


def test_a_false_assumption_is_refused_at_launch():
    with pytest.raises(UserError) as caught:
        run_gemm(
            bounded_gemm(),
            (40, 33, 48),
            schedule=SchedulingType.PREFETCH,
            dynamic=True,
        )
    assert codes(caught) == ["WV0718"]
