"""Random matrix kernels under every schedule, staged, as users compile them.

Numbers are such that every operation is exact, some of them infinite or NaN, and
results are what numpy gives, bit by bit; or they are rounded, and results are within
a forward error bound. Neither the lane simulator nor the emulator may report anything,
and bytes around and between the elements of arguments stay what they were.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from wave_core.compile import Config, Session
from wave_testing import staging
from wave_testing.programs import (
    Discarded,
    launch_program,
    random_matrix_program,
    with_real_numbers,
    with_special_numbers,
)

PRESETS = ("default", "prefetch", "four-stage", "fetch-ahead", "modulo", "pingpong")
CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
REFUSALS = {
    "WV0321": "a condition with several elements in a lane",
    "WV0406": "more LDS than there is",
    "WV0415": "a direct copy to a buffer that is laid out by hand",
    "WV0605": "more registers than a small chip has",
    "WV0702": "a matrix instruction that the chip does not have",
}
"""Why a random program may be refused, by code."""


@pytest.fixture(scope="module")
def session():
    plugins = {"staging": staging}
    return Session(plugins, config=Config(cache=False), announce=lambda _: None)


def some_options(rng):
    """A preset, and at times what changes the loop or the copies."""
    found = {"preset": str(rng.choice(PRESETS))}
    if rng.random() < 0.3:
        found["unroll_factor"] = int(rng.integers(2, 5))
    if rng.random() < 0.3:
        found["eliminate_epilogue"] = True
    if rng.random() < 0.25:
        found["use_global_to_shared"] = True
    if rng.random() < 0.9:
        found["passes"] = ("ask-for-staging",)
    return found


def some_program(rng, seed):
    """A program on exact numbers, on real ones, or on some that are special."""
    program = random_matrix_program(np.random.default_rng(seed), seed)
    change = rng.choice(
        [None, with_real_numbers, with_real_numbers, with_special_numbers]
    )
    return program if change is None else change(program)


def check(session, seeds, chips):
    """Launch each program once, on one of the devices; how many were refused."""
    tally = Counter()
    for seed in seeds:
        rng = np.random.default_rng([seed, 1])
        program = some_program(rng, seed)
        device = "emulator" if rng.random() < 0.7 else "sim"
        chip = str(rng.choice(chips))
        options = some_options(rng)
        try:
            launch_program(
                program, device=device, target=chip, session=session, **options
            )
        except Discarded as refused:
            tally[refused.code] += 1
    assert tally.keys() <= REFUSALS.keys()
    return tally.total()


@pytest.mark.parametrize("first", range(0, 16, 2))
def test_sixteen_programs(session, first):
    assert check(session, range(first, first + 2), ("gfx942", "gfx950")) <= 1


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(1000, 1500, 20))
def test_five_hundred_programs(session, first):
    assert check(session, range(first, first + 20), CHIPS) <= 14
