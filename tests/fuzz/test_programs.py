"""Random kernels against exact arithmetic, after every phase.

Programs are made from their seed, so a seed is all that has to be kept of one. The
seeds of the long search are fixed; those in `REGRESSIONS` once found a defect.
"""

from __future__ import annotations

import numpy as np
import pytest

from wave_testing.programs import Discarded
from wave_testing.programs import check_program
from wave_testing.programs import random_program

REGRESSIONS = (1008, 1049, 1344, 1374, 1440, 1693, 1783, 2010, 2036, 2220, 2846)

ALLOWED_REFUSALS = 0.1
"""Share of programs that the compiler may refuse with a coded diagnostic."""


def refused(seeds) -> int:
    """Check the programs; how many of them the compiler refuses."""
    count = 0
    for seed in seeds:
        try:
            check_program(random_program(np.random.default_rng(seed), seed))
        except Discarded:
            count += 1
    return count


@pytest.mark.parametrize("first", range(100_000, 100_050, 10))
def test_a_few_programs_are_right(first):
    assert refused(range(first, first + 10)) <= 3


@pytest.mark.parametrize("seed", REGRESSIONS)
def test_programs_that_once_failed_are_right(seed):
    refused([seed])


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_a_thousand_programs_are_right(first):
    assert refused(range(first, first + 100)) <= 100 * ALLOWED_REFUSALS
