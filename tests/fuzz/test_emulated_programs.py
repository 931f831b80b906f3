"""Random kernels as machine code on the emulator, and on the lane simulator.

Numbers are such that every operation is exact: both must give what numpy gives, bit by
bit, and no hazard may be reported.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from wave_testing.programs import Discarded, launch_program, random_program

REFUSALS = {
    "WV0321": "a condition with several elements in a lane",
    "WV0406": "more LDS than there is",
    "WV0412": "a barrier inside a conditional that waves may skip",
    "WV0601": "8-bit floats on a chip that does not convert them",
    "WV0702": "a matrix instruction by name that the chip does not have",
}
"""Why a random program may be refused, by code."""

ALLOWED = {"gfx90a": 0.15, "gfx1100": 0.25, "gfx1201": 0.15}
"""Share of programs that may be refused; 0.1 elsewhere."""

CHIPS = ("gfx90a", "gfx950", "gfx1100", "gfx1201")


def check(target, seeds):
    """Launch the programs on both; refusals are few, and for a known reason."""
    tally = Counter()
    for seed in seeds:
        program = random_program(np.random.default_rng(seed), seed)
        try:
            launch_program(program, device="sim", target=target)
            launch_program(program, device="emulator", target=target)
        except Discarded as refused:
            tally[refused.code] += 1
    assert tally.keys() <= REFUSALS.keys()
    return tally.total()


@pytest.mark.parametrize("first", range(0, 15, 3))
def test_fifteen_programs(first):
    assert check("gfx942", range(first, first + 3)) <= 1


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 300, 20))
def test_three_hundred_programs(first):
    assert check("gfx942", range(first, first + 20)) <= 3


@pytest.mark.fuzz
@pytest.mark.parametrize("chip", CHIPS)
def test_fifty_programs_on_other_chips(chip):
    assert check(chip, range(50)) <= 50 * ALLOWED.get(chip, 0.1)
