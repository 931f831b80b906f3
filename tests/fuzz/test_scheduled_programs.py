"""Random kernels under every schedule, staged, as users compile them.

Numbers are such that every operation is exact, some of them infinite or NaN or all of
them subnormal, and results are what numpy gives, bit by bit; or they are rounded, and
results are within a forward error bound. Neither the lane simulator nor the emulator
may report anything, and bytes around and between the elements of arguments stay what
they were.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from found import LAUNCHED, one_element_on_two_waves
from launches import CHIPS, NVIDIA_CHIPS, any_program, outcomes, session

from wave_testing.programs import (
    in_waves_of,
    launch_program,
    random_matrix_program,
    random_program,
)
from wave_testing.programs.store import from_json

MAKERS = {"any": random_program, "matrix": random_matrix_program}
REFUSALS = {
    "WV0309": "a relayout inside a conditional, where no barrier may stand",
    "WV0321": "a condition with several elements in a lane",
    "WV0342": "a sort along a dim whose elements no network meets",
    "WV0341": "a scan inside a conditional that lanes or waves may skip",
    "WV0406": "more LDS than there is",
    "WV0412": "a barrier inside a conditional that waves may skip",
    "WV0415": "a direct copy to a buffer that is laid out by hand",
    "WV0605": "more registers than a small chip has",
    "WV0702": "a matrix instruction that the chip does not have",
}
"""Why a random program may be refused, by code."""


@pytest.mark.parametrize("device", ["sim", "emulator"])
@pytest.mark.parametrize("name", LAUNCHED)
def test_what_once_failed_is_right(name, device):
    options = {"target": "gfx942", "passes": ("ask-for-staging",)}
    launch_program(LAUNCHED[name], device=device, session=session(), **options)


def test_what_once_failed_on_another_chip_is_right():
    options = {"target": "gfx1201", "passes": ("ask-for-staging",)}
    launch_program(
        one_element_on_two_waves(), device="emulator", session=session(), **options
    )


STORED = json.loads(Path(__file__).with_name("found_programs.json").read_text())
"""Programs that are wrong once LLVM, given the choice, makes a mistake."""


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize("name", STORED)
def test_what_llvm_once_got_wrong_is_right(name, target):
    program = from_json(STORED[name])
    launch_program(
        program, device="emulator", target=target, session=session(), preset="default"
    )


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("first", [0, 2, 6])
def test_twelve_programs(maker, first):
    seeds = range(first, first + 2)
    tally, failures = outcomes(MAKERS[maker], seeds, ("gfx942", "gfx950"))
    assert failures == []
    assert tally.keys() <= {"right", *REFUSALS}
    assert tally["right"] > 0


@pytest.mark.parametrize("maker", MAKERS)
def test_programs_for_nvidia(maker):
    tally, failures = outcomes(MAKERS[maker], range(2), NVIDIA_CHIPS)
    assert failures == []
    assert tally.keys() <= {"right", *REFUSALS}
    assert tally["right"] > 0


WIDE = partial(in_waves_of, lanes=128)
"""Waves of four warps, which have no products by instructions of one warp."""


@pytest.mark.parametrize("seed", [969, 1179, 636, 958])
def test_products_of_four_warps_that_were_wrong(seed):
    """Operands read beyond the buffer of a tile that is smaller than the instruction;
    accumulators with other uses, copied behind the fence."""
    seeds = range(seed, seed + 1)
    assert outcomes(random_program, seeds, ("sm_90a",), WIDE) == ({"right": 1}, [])


def test_programs_in_wide_waves_for_nvidia():
    tally, failures = outcomes(random_program, range(4), ("sm_80", "sm_90"), WIDE)
    assert failures == []
    assert tally.keys() <= {"right", *REFUSALS}
    assert tally["right"] > 0


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
def test_any_number_of_programs_in_wide_waves(seeds):
    chips = ("sm_80", "sm_90", "sm_90a")
    tally, failures = outcomes(random_program, seeds, chips, WIDE)
    assert failures == []
    assert tally.keys() <= {"right", *REFUSALS}
    assert tally["right"] >= 0.3 * len(seeds)


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("chips", [CHIPS, NVIDIA_CHIPS], ids=["amd", "nvidia"])
def test_any_number_of_programs(seeds, chips, record_property):
    """`nox -s fuzz -- tests/fuzz/test_scheduled_programs.py --programs 5000` says how
    many; `--first-seed` which. The tally of all stands at the end of the output.
    """
    tally, failures = outcomes(any_program, seeds, chips)
    record_property("programs", dict(tally))
    assert failures == []
    assert tally.keys() <= {"right", *REFUSALS}
    assert tally["right"] >= 0.3 * len(seeds)
