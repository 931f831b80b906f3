"""Waits, barriers and ends of groups of our PTX, left out one at a time.

The emulator has to report each, or the result has to be wrong, in one of a few orders
of warps; what is left is named here, with what makes it harmless. Descriptors of
products of four warps are changed, too.
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
SHOWN = "threads have written nothing since the last: boxes are copied past them"
EITHER = "a barrier shows a workgroup what the fence behind `mbarrier.init` shows all"
ALONE = "every thread has waited for the boxes itself, and nothing overwrites them"
ONLY = "K is innermost, and a tile is one panel: hardware reads no distance of panels"
SAME = "only products have touched their accumulators since the loop's fence"

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
    "four-stage": {1: WAITED, 2: WAITED, 3: WAITED, 4: ONLY, 32: SAME},
    "panels": {4: ONLY, 34: SAME},
    "boxes": {1: EITHER, 9: WAITED, 10: ONLY, 37: ALONE, 38: SAME, 74: LAST},
    "attention-four": {0: ONLY, 25: EMPTY, 26: SHOWN},
}
"""By kernel: numbers of `Trial.planted`, and why nothing is wrong without them."""

BARRIER, LOOPED = {"bar.sync"}, {"{"}
PROXY = {"fence.proxy.async.shared::cta;"}
TEXTS = {
    EMPTY: {"cp.async.commit_group;"},
    AGAIN: BARRIER,
    OTHER: BARRIER,
    WAITED: BARRIER | PROXY | {"cp.async.wait_group"},
    LAST: BARRIER | LOOPED,
    SHOWN: PROXY,
    EITHER: {"fence.mbarrier_init.release.cluster;"},
    ALONE: BARRIER,
    ONLY: {"or.b32"},
    SAME: {"wgmma.fence.sync.aligned;"},
}
"""What may be harmless for which reason."""

SAMPLE = 47
"""One of so many faults is planted where all are for `-m fuzz`."""

FOUR_WARPS = ("four-stage", "panels", "boxes", "attention-four")
SMALL = ("staged", "attention")


def trial(name):
    """A kernel that is right with all that it has."""
    made = Trial(name)
    assert len(made.planted()) >= 2
    assert not any(made.wrong(order=order) for order in ORDERS)
    return made


def check(name, step=1):
    made, reasons = trial(name), HARMLESS.get(name, {})
    chosen = range(0, len(made.planted()), step)
    left = made.survivors(ORDERS, chosen)
    assert left == [number for number in reasons if number in chosen]
    for number, reason in reasons.items():
        assert made.text(number) in TEXTS[reason], (number, reason)
    return made


@pytest.mark.parametrize("name", SMALL)
def test_whatever_is_left_out_is_found(name):
    check(name)


@pytest.mark.parametrize("name", FOUR_WARPS)
def test_some_of_what_is_changed_in_products_of_four_warps_is_found(name):
    made = check(name, SAMPLE)
    texts = [made.text(number) for number in range(len(made.planted()))]
    assert {"bar.sync", "wgmma.fence.sync.aligned;", "or.b64"} <= {*texts}
    assert ("{" in texts) == (name == "boxes")


@pytest.mark.fuzz
@pytest.mark.parametrize("name", sorted({*KERNELS} - {*SMALL}))
def test_whatever_is_changed_of_copies_and_products_in_flight_is_found(name):
    check(name)
