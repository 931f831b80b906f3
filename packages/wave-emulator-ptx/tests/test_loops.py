"""The order of blocks: after what leads to them, and loops in one piece."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given, strategies as st

from wave_emulator_ptx.loops import ordered

MOST_SECONDS = 10
"""For thousands of blocks: each takes some microseconds, however they are linked."""


@st.composite
def graphs(draw):
    """Where each of a few blocks leads: to the next one, or to any."""
    count = draw(st.integers(1, 9))
    any_of = st.frozensets(st.integers(0, count - 1), max_size=2)
    goes_on = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    return {
        at: draw(any_of) | ({at + 1} if goes and at + 1 < count else frozenset())
        for at, goes in enumerate(goes_on)
    }


def reached(start, edges):
    """Blocks to which a way of at least one edge leads."""
    found, rest = set(), [start]
    while rest:
        new = edges[rest.pop()] - found
        found |= new
        rest += new
    return found


def assert_in_order(order, edges):
    """Loops are in one piece, before what they lead to; and so are those inside."""
    reach = {at: reached(at, edges) for at in order}
    rest = list(order)
    while rest:
        first = rest[0]
        loop = [each for each in rest if each in reach[first] and first in reach[each]]
        size = len(loop) or 1
        assert not loop or loop == rest[:size], "a loop is in one piece"
        for each in rest[size:]:
            assert not edges[each] & set(rest[:size]), "nothing leads back"
        if size > 1:
            inside = set(loop[1:])
            assert_in_order(loop[1:], {at: edges[at] & inside for at in inside})
        rest = rest[size:]


@given(graphs())
def test_what_a_block_leads_to_comes_after_it(edges):
    order = ordered(range(len(edges)), edges)
    assert sorted(order) == list(range(len(edges)))
    assert_in_order(order, edges)


def test_a_loop_begins_where_it_is_entered():
    edges = {0: {3}, 1: {2, 3}, 2: {3}, 3: {1, 4}, 4: set()}
    edges = {at: frozenset(targets) for at, targets in edges.items()}
    assert ordered(range(5), edges) == [0, 3, 1, 2, 4]


def scattered(count):
    """Every block leads to the next and to one somewhere: loops of many entries."""
    return {at: {at + 1, at * 7919 % count} - {count} for at in range(count)}


def nested(count):
    """Half of the blocks begin a loop, the others end them."""
    half = count // 2
    back = {at: count - 1 - at for at in range(half, count)}
    return {at: {at + 1, back.get(at, at + 1)} - {count} for at in range(count)}


@pytest.mark.parametrize("shape", [scattered, nested])
def test_thousands_of_blocks_are_ordered_at_once(shape):
    count = 4000
    edges = {at: frozenset(targets) for at, targets in shape(count).items()}
    began = process_time()
    assert len(ordered(range(count), edges)) == count
    assert process_time() - began < MOST_SECONDS
