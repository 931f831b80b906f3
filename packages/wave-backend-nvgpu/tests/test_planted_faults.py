"""Waits, barriers and ends of groups of our PTX, left out one at a time.

The emulator has to report each, or the result has to be wrong, in one of a few orders
of warps; what is left is named here, with what makes it harmless.
"""

from __future__ import annotations

import pytest
from planted_faults import KERNELS, Trial

ORDERS = (1, None, 2)

EMPTY = "ends a group without copies, and no wait counts on it"
AGAIN = "a barrier follows before anything touches shared memory"
WAITED = "the loop waits and meets before it reads"
OTHER = "what is copied next goes to the stage that a barrier since its reads has freed"
LAST = "nothing touches shared memory any more"

HARMLESS = {
    "modulo": {1: AGAIN, 5: EMPTY, 6: OTHER, 7: EMPTY, 8: OTHER, 10: AGAIN},
    "ahead": {
        1: WAITED,
        2: WAITED,
        3: EMPTY,
        4: OTHER,
        6: AGAIN,
        13: EMPTY,
        14: LAST,
    },
    "attention-ahead": {0: EMPTY},
}
"""By kernel: numbers of `Trial.planted`, and why nothing is wrong without them."""

BARRIERS = {AGAIN, OTHER, LAST}


def trial(name):
    """A kernel that is right with all that it has."""
    made = Trial(name)
    assert len(made.planted()) >= 2
    assert not any(made.wrong(order=order) for order in ORDERS)
    return made


def check(name):
    made, reasons = trial(name), HARMLESS.get(name, {})
    assert made.survivors(ORDERS) == list(reasons)
    for number, reason in reasons.items():
        found = made.text(number)
        assert (found == "cp.async.commit_group;") == (reason == EMPTY), found
        assert reason not in BARRIERS or found == "bar.sync", found


@pytest.mark.parametrize("name", ["staged", "attention"])
def test_whatever_is_left_out_is_found(name):
    check(name)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", sorted({*KERNELS} - {"staged", "attention"}))
def test_whatever_is_left_out_of_copies_in_flight_is_found(name):
    check(name)
