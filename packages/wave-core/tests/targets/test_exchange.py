"""What lanes hold after they exchanged what they fetched, by digits and one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from wave_core.symbols import Digit, Layout, parse_layout
from wave_core.targets.exchange import SIXTEEN, Exchange, before_exchange, exchanged


@st.composite
def layouts(draw):
    """Each bit of lane and register adds its own power of two to one of two dims."""
    length = draw(st.sampled_from([0, 1, 2, 3]))
    bits = [("lane", b) for b in range(draw(st.sampled_from([4, 5, 6])))]
    lanes = 1 << len(bits)
    bits += [("reg", b) for b in range(length)]
    digits = {"K": [], "N": []}
    for source, place in draw(st.permutations(bits)):
        row = digits[draw(st.sampled_from(["K", "N"]))]
        row.append(Digit(1 << len(row), source, 1 << place, 2))
    return Layout.make(lanes, 1 << length, digits)


@given(layout=layouts())
def test_digits_say_what_lanes_do(layout):
    found = exchanged(layout, SIXTEEN)
    rows = layout.registers, SIXTEEN.lanes
    for dim in layout.dims:
        fetched = layout.offsets(dim).reshape(-1, *rows)
        held = np.swapaxes(fetched, 1, 2).reshape(layout.lanes, layout.registers)
        np.testing.assert_array_equal(found.offsets(dim), held)


@given(layout=layouts())
def test_there_is_one_way_to_fetch_for_each_layout(layout):
    assert exchanged(before_exchange(layout, SIXTEEN), SIXTEEN) == layout
    assert before_exchange(exchanged(layout, SIXTEEN), SIXTEEN) == layout


def test_an_operand_is_fetched_row_by_row():
    wanted = parse_layout("64x4 {K: 4*(lane/16%4) + (reg/1%4), N: (lane/1%16)}")
    fetched = "64x4 {K: (lane/4%16), N: 4*(lane/1%4) + (reg/1%4)}"
    assert before_exchange(wanted, SIXTEEN) == parse_layout(fetched)


@pytest.mark.parametrize("text", ["64x3 {K: (reg/1%3)}", "8x4 {K: (reg/1%4)}"])
def test_what_has_no_bits_has_no_exchange(text):
    layout = parse_layout(text)
    assert exchanged(layout, SIXTEEN) is None
    assert before_exchange(layout, SIXTEEN) is None


PAIRS = Exchange(
    4, (("lane", 1), ("reg", 0), ("lane", 0))
)  # Two registers of four lanes: a 2 by 2 of pairs.


def test_an_exchange_by_bits_says_what_lanes_do():
    layout = parse_layout("8x2 {K: 2*(lane/1%8) + (reg/1%2)}")
    found = exchanged(layout, PAIRS)
    fetched, places = layout.offsets("K").reshape(2, 8), PAIRS.places(2)
    held = np.zeros_like(fetched)
    held[:, places] = fetched
    np.testing.assert_array_equal(found.offsets("K"), held.reshape(8, 2))
    assert before_exchange(found, PAIRS) == layout


def test_an_exchange_of_other_vectors_has_no_form():
    layout = parse_layout("8x4 {K: 4*(lane/1%8) + (reg/1%4)}")
    assert exchanged(layout, PAIRS) is None
