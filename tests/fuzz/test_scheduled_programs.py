"""Random kernels under every schedule, staged, as users compile them.

Numbers are such that every operation is exact, some of them infinite or NaN or all of
them subnormal, and results are what numpy gives, bit by bit; or they are rounded, and
results are within a forward error bound. Neither the lane simulator nor the emulator
may report anything, and bytes around and between the elements of arguments stay what
they were.
"""

from __future__ import annotations

import pytest
from launches import CHIPS, refusals

from wave_testing.programs import random_matrix_program, random_program

MAKERS = {"any": random_program, "matrix": random_matrix_program}
REFUSALS = {
    "WV0309": "a relayout inside a conditional, where no barrier may stand",
    "WV0321": "a condition with several elements in a lane",
    "WV0406": "more LDS than there is",
    "WV0412": "a barrier inside a conditional that waves may skip",
    "WV0415": "a direct copy to a buffer that is laid out by hand",
    "WV0601": "8-bit floats on a chip that does not convert them",
    "WV0605": "more registers than a small chip has",
    "WV0702": "a matrix instruction that the chip does not have",
}
"""Why a random program may be refused, by code."""


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("first", [0, 2, 6])
def test_twelve_programs(maker, first):
    seeds = range(first, first + 2)
    tally = refusals(MAKERS[maker], seeds, ("gfx942", "gfx950"))
    assert tally.keys() <= REFUSALS.keys()
    assert tally.total() <= 1


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("first", range(1000, 1500, 20))
def test_a_thousand_programs(maker, first):
    tally = refusals(MAKERS[maker], range(first, first + 20), CHIPS)
    assert tally.keys() <= REFUSALS.keys()
    assert tally.total() <= 14
