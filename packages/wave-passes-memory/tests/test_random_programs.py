"""Hoisting, packing and barriers on random programs, alone and together."""

from __future__ import annotations

import numpy as np
import pytest

from wave_testing.programs import Discarded
from wave_testing.programs import check_program
from wave_testing.programs import random_program

PASSES = (
    "hoist-loop-invariants",
    "share-common-reads",
    "delay-reads",
    "pack-shared-memory{within-loops=true}",
    "place-minimal-barriers",
)
REFUSALS = {
    "WV0309": "a relayout inside a conditional, where no barrier may stand",
    "WV0321": "a condition with several elements in a lane",
    "WV0406": "more LDS than there is",
    "WV0412": "a barrier inside a conditional that waves may skip",
}
"""Why the compiler may refuse a random program, by code."""


def refusals(seeds, passes):
    """Check programs; the codes with which some are refused."""
    found = set()
    for seed in seeds:
        program = random_program(np.random.default_rng(seed), seed)
        try:
            check_program(program, passes=passes)
        except Discarded as refused:
            found.add(refused.code)
    return found


@pytest.mark.parametrize("first", range(0, 20, 5))
def test_together(first):
    seeds = range(first, first + 5)
    assert refusals(seeds, ",".join(PASSES)) <= REFUSALS.keys()


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 1000, 50))
@pytest.mark.parametrize("passes", [*PASSES, ",".join(PASSES)])
def test_a_thousand_programs(first, passes):
    assert refusals(range(first, first + 50), passes) <= REFUSALS.keys()
