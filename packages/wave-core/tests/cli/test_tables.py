"""Tables on wide and on narrow terminals."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, strategies as st

from wave_core.cli import output

TITLES = ("cycles", "share of units", "compiled as")
ROWS = [
    ("1,024", "13", "prefetch passes=copy-direct{cheaper=true} BLOCK_M=128"),
    ("20", "5", "default BLOCK_M=16\nnot: too few iterations"),
]


@pytest.fixture
def printed(capsys, monkeypatch):
    def lines(columns):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("TERM", "dumb")
        output.print_table(TITLES, ROWS)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return lines


def test_a_wide_terminal_breaks_only_the_authors_lines(printed):
    assert printed(120) == [
        "cycles  share of units  compiled as",
        "1,024   13              prefetch passes=copy-direct{cheaper=true} BLOCK_M=128",
        "20      5               default BLOCK_M=16",
        "                        not: too few iterations",
    ]


def test_a_narrow_terminal_breaks_between_words(printed):
    assert printed(47) == [
        "        share",
        "        of",
        "cycles  units  compiled as",
        "1,024   13     prefetch",
        "               passes=copy-direct{cheaper=true}",
        "               BLOCK_M=128",
        "20      5      default BLOCK_M=16",
        "               not: too few iterations",
    ]


def test_nothing_is_lost_where_words_have_to_break(printed):
    lines = printed(30)
    assert max(map(len, lines)) <= 30
    told = "".join(cell for row in (TITLES, *ROWS) for cell in row)
    assert sorted("".join("".join(lines).split())) == sorted("".join(told.split()))


texts = st.lists(st.text("ab \n", max_size=30), min_size=1, max_size=4)


@given(st.lists(texts, min_size=1, max_size=6), st.integers(1, 120))
def test_columns_fit_and_hold_their_words(columns, room):
    widths = output._widths(columns, room)
    longest = [
        max((len(word) for text in texts for word in text.split()), default=0)
        for texts in columns
    ]
    if None in widths:
        assert sum(longest) > room
    else:
        assert sum(widths) <= room
        assert all(map(int.__ge__, widths, longest))
