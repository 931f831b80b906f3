"""Random kernels against exact arithmetic, after every phase.

Programs are made from their seed, so a seed is all that has to be kept of one; those
that once failed are kept as programs in `found.py`, since a seed means another program
as soon as the generator learns something.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from found import FOUND

from wave_testing.programs import Discarded, check_program, random_program

REFUSALS = {
    "WV0309": "a relayout inside a conditional, where no barrier may stand",
    "WV0321": "a condition with several elements in a lane",
    "WV0342": "a sort along a dim whose elements no network meets",
    "WV0341": "a scan inside a conditional that lanes or waves may skip",
    "WV0406": "more LDS than there is",
    "WV0412": "a barrier inside a conditional that waves may skip",
}
"""Why the compiler may refuse a random program, by code."""

ALLOWED_REFUSALS = 0.1
"""Share of programs that may be refused."""


WIDE = "generic128"
"""A machine whose waves have 128 lanes, 32 of which run in step."""


def refusals(seeds, target="generic"):
    """Check the programs; how many the compiler refuses, by code."""
    tally = Counter()
    for seed in seeds:
        try:
            program = random_program(np.random.default_rng(seed), seed)
            check_program(program, target=target)
        except Discarded as refused:
            tally[refused.code] += 1
    return tally


@pytest.mark.parametrize("name", FOUND)
def test_what_once_failed_is_right(name):
    assert "synchronize" in check_program(FOUND[name]).phases


@pytest.mark.parametrize("first", range(0, 20, 10))
def test_twenty_programs_are_right(first):
    assert refusals(range(first, first + 10)).keys() <= REFUSALS.keys()


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 1000, 50))
def test_a_thousand_programs_are_right(first):
    tally = refusals(range(first, first + 50))
    assert tally.keys() <= REFUSALS.keys()
    assert tally.total() <= 50 * ALLOWED_REFUSALS


def test_ten_programs_are_right_in_wide_waves():
    assert refusals(range(10), WIDE).keys() <= REFUSALS.keys()


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 1000, 50))
def test_a_thousand_programs_are_right_in_wide_waves(first):
    tally = refusals(range(first, first + 50), WIDE)
    assert tally.keys() <= REFUSALS.keys()
    assert tally.total() <= 50 * ALLOWED_REFUSALS
