"""Registers that are held at points, beside a list of them point by point."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st

from wave_backend_asm.allocate.points import Held, Points
from wave_backend_asm.allocate.ranges import joined

POINTS = 1200

rows = st.lists(
    st.tuples(st.integers(0, POINTS - 1), st.integers(0, POINTS - 1)).map(sorted),
    min_size=1, max_size=3,
)  # fmt: skip
spans = rows.map(lambda found: joined([(first, last) for first, last in found]))


def points_of(span):
    return {point for first, last in span for point in range(first, last + 1)}


@given(st.lists(spans, max_size=12), spans)
def test_what_is_held_during_points_is_what_was_held_at_one_of_them(holds, asked):
    points = Points(POINTS)
    held = Held(points)
    for register, span in enumerate(holds):
        held.hold(points.cover(span), 1 << register)
    places = points_of(asked)
    meets = [not places.isdisjoint(points_of(span)) for span in holds]
    assert held.during(points.cover(asked)) == sum(
        1 << n for n, each in enumerate(meets) if each
    )


@given(st.integers(1, 70), st.data())
def test_all_points_of_small_programs_are_leaves(count, data):
    first = data.draw(st.integers(0, count - 1))
    last = data.draw(st.integers(first, count - 1))
    points = Points(count)
    held = Held(points)
    held.hold(points.cover(((first, last),)), 1)
    found = [held.during(points.cover(((at, at),))) for at in range(count)]
    assert found == [int(first <= point <= last) for point in range(count)]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=8))
def test_joined_rows_are_the_same_points_and_do_not_touch(found):
    given_rows = [(first, first + more) for first, more in found]
    span = joined(given_rows)
    assert points_of(span) == points_of(given_rows)
    assert all(a[1] + 1 < b[0] for a, b in pairwise(span))
