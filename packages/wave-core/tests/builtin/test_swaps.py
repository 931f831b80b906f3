"""Values that lanes exchange by shuffles."""

from __future__ import annotations

import numpy as np
import pytest

from wave_core.builtin.expand.swaps import swaps_between
from wave_core.symbols import Digit, Layout


def held(lanes, registers, rows, columns):
    return Layout.make(lanes, registers, {"M": rows, "N": columns})


def product(pieces, *, wide=False, lanes=32):
    """Rows by lanes of four; two elements a lane of each piece, or eight."""
    low = [
        Digit(1, "lane", 4, lanes // 4),
        Digit(lanes // 4, "reg", 8 if wide else 2, 2),
    ]
    if wide:
        columns = [Digit(1, "reg", 1, 8), Digit(8, "lane", 1, 4)]
        columns.append(Digit(32, "reg", 16, pieces // 4))
    else:
        columns = [Digit(1, "reg", 1, 2), Digit(2, "lane", 1, 4)]
        columns.append(Digit(8, "reg", 4, pieces))
    return held(lanes, 4 * pieces, low, columns)


@pytest.mark.parametrize("pieces", [4, 8, 24])
def test_swaps_bring_each_element_where_it_is_wanted(pieces):
    have, want = product(pieces), product(pieces, wide=True)
    found = swaps_between(have, want, 32)
    assert found is not None
    swaps, picks = found
    assert [swap.distance for swap in swaps] == [1, 2]
    places = [have.offsets(dim).copy() for dim in have.dims]
    for swap in swaps:
        own = np.arange(32) // swap.distance % 2 == 1
        partner = np.arange(32) ^ swap.distance
        for place in places:
            low, high = place[:, list(swap.low)], place[:, list(swap.high)]
            given = np.where(own[:, None], low, high)[partner]
            place[:, list(swap.low)] = np.where(own[:, None], given, low)
            place[:, list(swap.high)] = np.where(own[:, None], high, given)
    for dim, place in zip(have.dims, places, strict=True):
        assert (place[:, list(picks)] == want.offsets(dim)).all()


def test_lanes_out_of_reach_do_not_swap():
    have, want = product(8), product(8, wide=True)
    assert swaps_between(have, want, 32) is not None
    assert swaps_between(have, want, 2) is None


def test_other_layouts_are_no_swaps():
    have = held(4, 2, [Digit(1, "lane", 1, 4)], [Digit(1, "reg", 1, 2)])
    turned = held(
        4, 2, [Digit(1, "lane", 2, 2), Digit(2, "lane", 1, 2)], have.digits("N")
    )
    assert swaps_between(have, turned, 4) is None
    assert swaps_between(have, have, 4) == ([], (0, 1))
