"""Which waves meet at columns of LDS, however many waves there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from wave_core.analysis.dependences.footprint import NOBODY, Columns, Footprint
from wave_core.symbols import constant

WIDTH = 6


def columns(touched):
    """Those of waves that touch some columns, by their first lane."""
    owners = np.where(touched, 0, NOBODY).astype(np.int16)
    return Columns.of(Footprint(constant(0), 0, 1, owners, exact=True), 1)


def met(one, two):
    """Whether two waves meet, and whether one meets itself, pair by pair."""
    waves = range(len(one))
    pairs = [(a, b) for a in waves for b in waves if (one[a] & two[b]).any()]
    return any(a != b for a, b in pairs), any(a == b for a, b in pairs)


@settings(max_examples=60)
@given(
    st.sampled_from([1, 2, 4, 9, 64, 65]), st.integers(0, 2**32 - 1), st.floats(0, 1)
)
def test_waves_meet_as_they_do_pair_by_pair(count, seed, share):
    rng = np.random.default_rng(seed)
    one, two = rng.random((2, count, WIDTH)) < share / count
    assert columns(one).meet(columns(two)) == met(one, two)


@pytest.mark.parametrize("last", [7, 8, 63, 64, 127])
def test_the_last_of_many_waves_is_seen(last):
    one, two = np.zeros((2, 128, WIDTH), bool)
    one[last, 2] = two[0, 2] = True
    assert columns(one).meet(columns(two)) == (last > 0, False)
    assert columns(one).meet(columns(one)) == (False, True)
    here = columns(one).within(slice(3, WIDTH))
    assert here.meet(columns(two).within(slice(3, WIDTH))) == (False, False)
