"""How many lanes a wave has: the kernel says, or its instruction, or the target."""

from __future__ import annotations

from dataclasses import replace

import pytest

import wave_core.lang as tkw
from wave_core.constraints import lanes_of
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import UserError
from wave_core.targets import generic128_target, generic_target
from wave_core.types import DTYPES

WIDE = generic128_target()
OF_FOUR = WIDE.matrix_instructions[0]
BOTH = replace(
    WIDE,
    wave_size=64,
    matrix_instructions=(*generic_target().matrix_instructions, OF_FOUR),
)
"""Waves of 64 lanes if nothing is said, and rows for 64 and for 128."""


def geometry(target, **fields):
    return Geometry((tkw.HardwareConstraint(**fields),), {}, target)


@pytest.mark.parametrize(
    ("fields", "lanes"),
    [
        ({}, 64),
        ({"threads_per_wave": 32}, 32),
        ({"threads_per_wave": 128}, 128),
        ({"mma_type": "F32_64x16x16_F16"}, 128),
        ({"mma_type": "F32_16x16x16_F16"}, 64),
        ({"mma_type": "of another target"}, 64),
        ({"mma_type": "F32_64x16x16_F16", "threads_per_wave": 64}, 64),
        ({"mma_rows": 64}, 128),
        ({"mma_rows": 16}, 64),
        ({"mma_rows": 0}, 64),
        ({"mma_rows": 48}, 64),
        ({"mma_rows": 64, "threads_per_wave": 64}, 64),
        ({"mma_rows": 64, "mma_type": "F32_16x16x16_F16"}, 64),
    ],
)
def test_the_kernel_says_then_its_instruction_then_the_target(fields, lanes):
    assert geometry(BOTH, **fields).lanes == lanes


def test_rows_that_a_symbol_stands_for():
    rows = tkw.HardwareConstraint(mma_rows=tkw.sym.MMA_ROWS)
    (name,) = rows.mma_rows.free_symbols
    assert lanes_of([rows], BOTH) == 64
    for count, lanes in ((0, 64), (16, 64), (64, 128)):
        assert lanes_of([rows], BOTH, {name: count}) == lanes
        assert Geometry([rows], {name: count}, BOTH).mma_rows == (count or None)


def test_without_a_hardware_constraint_waves_are_as_usual():
    assert lanes_of((), BOTH) == 64


@pytest.mark.parametrize("lanes", [32, 64, 128])
def test_of_a_wave_32_lanes_run_in_step(lanes):
    found = geometry(WIDE, threads_per_wave=lanes, waves_per_block=(2,))
    assert (found.in_step, found.in_reach) == (32, 32)
    assert (found.threads, found.groups_in_step) == (2 * lanes, 2 * lanes // 32)


def test_where_nothing_else_is_said_the_whole_wave_runs_in_step():
    found = geometry(generic_target(), waves_per_block=(2,))
    assert (found.in_step, found.in_reach, found.groups_in_step) == (64, 64, 2)


def test_a_size_that_the_target_has_not_is_refused_with_those_it_has():
    with pytest.raises(UserError, match="may be: 32, 64, 128") as raised:
        geometry(WIDE, threads_per_wave=16)
    assert raised.value.code == "WV0318"
    with pytest.raises(UserError, match="write threads_per_wave=64"):
        geometry(generic_target(), threads_per_wave=128)


def test_the_default_instruction_is_one_of_these_waves():
    f16 = DTYPES["f16"]
    assert BOTH.default_mma(f16, lanes=128) is OF_FOUR
    assert BOTH.default_mma(f16, lanes=64).lanes == 64
    assert BOTH.default_mma(f16).lanes == 64
    with pytest.raises(UserError, match="may be: 64, 128") as raised:
        BOTH.default_mma(f16, lanes=32)
    assert raised.value.code == "WV0702"
