from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from wave_core.diagnostics import Location, fuse
from wave_core.diagnostics.location_text import format_spans, parse_spans
from wave_core.diagnostics.source import Span

numbers = st.integers(0, 10**6)


@st.composite
def spans(draw):
    line = draw(st.integers(1, 10**6))
    end = line + draw(st.integers(0, 3))
    file, name = draw(st.text(min_size=1)), draw(st.text())
    return Span(file, line, draw(numbers), end, draw(numbers), name)


stacks = st.lists(st.lists(spans(), min_size=1).map(tuple), min_size=1).map(tuple)


@given(stacks)
def test_text_reads_back(given_stacks):
    text = format_spans(given_stacks)
    assert "\n" not in text
    assert parse_spans(text) == given_stacks


@given(st.lists(spans(), min_size=2, max_size=4, unique=True))
def test_fused_locations_read_back(parts):
    place = fuse(*(Location.of_span(*part) for part in parts))
    assert Location.from_text(place.to_text()) == place


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Location.unknown(), "unknown"),
        (Location.of_span("k.py", 5), '"k.py":5'),
        (Location.of_span("k.py", 5, 11, 5, 31, "gemm"), '"k.py":5:11-31 in gemm'),
        (Location.of_span("k.py", 5, 1, 7, 4, "<f>"), '"k.py":5:1-7:4 in <f>'),
        (Location.of_span('"b"', 5, 1, 5, 2, "a b"), '"\\"b\\"":5:1-2 in "a b"'),
        (
            fuse(Location.of_span("a.py", 1), Location.of_span("b.py", 2)),
            'fused["a.py":1; "b.py":2]',
        ),
    ],
)  # fmt: skip
def test_the_form(place, text):
    assert place.to_text() == text
    assert Location.from_text(text) == place


def test_callers_read_back():
    text = '"k.py":5:1-2 in load from "k.py":9:1-2 in gemm'
    place = Location.from_text(text)
    assert [caller.line for caller in place.callers] == [9]
    assert place.to_text() == text


@pytest.mark.parametrize(
    "text",
    ["", "k:5", '"k"', '"k":5 x', 'fused["a":1', 'fused["a":1, "b":2]', "fused[]"],
)
def test_malformed_text_is_refused(text):
    with pytest.raises(ValueError, match="not a location"):
        Location.from_text(text)
