"""Which combinations of parameters the tests run; the other ones are for fuzz.

Where a package is tested alone it is fewer still: those that show what its tests need.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from pathlib import Path

    Word = tuple[str, str]
    """An argument, and its value as text."""

    Meeting = frozenset[tuple[Word, ...]]
    """Values of arguments that stand together in one test."""

FEW_VALUES = 8
"""A parameter of no more values is one of places: targets, devices, presets."""


def leave_to_fuzz(items: Iterable[pytest.Item]) -> None:
    """Mark with ``fuzz`` what the mark ``covering`` of a test leaves out.

    ``covering(1)`` keeps a few combinations in which every value of every argument
    stands, ``covering(2)`` those in which any two values of two arguments meet: what
    two do to each other is seen in the tests, what three do with ``-m fuzz``.
    ``covering(1, "absent")`` asks that of the values of ``absent`` alone, each beside
    other values of the other arguments.
    Source: D. R. Kuhn et al., Practical Combinatorial Testing, NIST SP 800-142.
    """
    tests: dict[object, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("covering"):
            tests[item.path, item.originalname].append(item)
    for rows in tests.values():
        mark = rows[0].get_closest_marker("covering")
        assert mark is not None, "all tests of one function have its marks"
        strength, *names = mark.args
        meetings = [_meetings(row, strength) for row in rows]
        kept = cover(meetings, set(names or rows[0].callspec.params))
        for number, row in enumerate(rows):
            if number not in kept:
                row.add_marker(pytest.mark.fuzz)


def cover(rows: Sequence[Meeting], arguments: Container[str] | None = None) -> set[int]:
    """A few rows that have all the meetings that all rows have: most new ones first.

    Args:
        rows: The meetings of each row.
        arguments: Only meetings of values of these count; those of all by default.
    """
    left = {
        each
        for each in set[tuple["Word", ...]]().union(*rows)
        if arguments is None or all(name in arguments for name, _ in each)
    }
    seen: Counter[object] = Counter()
    kept: set[int] = set()
    while left:
        best = max(
            range(len(rows)),
            # Of those with as many new ones the one with what was seen least.
            key=lambda i: (len(rows[i] & left), -sum(seen[each] for each in rows[i])),
        )
        kept.add(best)
        left -= rows[best]
        seen.update(rows[best])
    return kept


def that_show_needs(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests that import and start whatever all of them do.

    All modules are imported, whichever tests stay, and each test stays in one case or
    more, as its body may import something. What else a case needs its parameters tell:

    * No number, nor sizes made of numbers, leads to another package.
    * A parameter of a few values is where a test goes: a target, a device, a preset.
      Every test has each of them, since two tests do different things in one place.
    * One of many values is a list of kernels, instructions or operators. Each of them
      stays once in a file, where the tests do their different things to others of them.

    What two values need only together is not looked for: all packages are installed
    where the tests run as a whole, and there they are.
    """
    tests: dict[object, list[pytest.Function]] = defaultdict(list)
    kept: set[pytest.Item] = set()
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            tests[item.parent, item.originalname].append(item)
        else:
            kept.add(item)
    seen: dict[Path, set[Word]] = defaultdict(set)
    for rows in tests.values():
        before = seen[rows[0].path]
        words = [_words(row.callspec.params) for row in rows]
        for number in cases_of_words(words, before):
            kept.add(rows[number])
            before.update(words[number])
    return [item for item in items if item in kept]


def cases_of_words(rows: Sequence[set[Word]], before: set[Word]) -> set[int]:
    """A few cases of a test that have all its words that count; one if none does.

    Args:
        rows: The words of each case.
        before: Those that stand in earlier tests of the file.
    """
    count = Counter(name for name, _ in {word for row in rows for word in row})
    wanted = [
        frozenset((w,) for w in row if count[w[0]] <= FEW_VALUES or w not in before)
        for row in rows
    ]
    return cover(wanted) or {0}


def _words(arguments: Mapping[str, object]) -> set[Word]:
    """The arguments of a case that are more than numbers."""
    given = arguments.items()
    return {(name, repr(value)) for name, value in given if not _is_number(value)}


def _is_number(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_number, cast("dict[object, object]", value).values()))
    if isinstance(value, tuple):
        return all(map(_is_number, cast("tuple[object, ...]", value)))
    return value is None or isinstance(value, int | float)


def _meetings(item: pytest.Function, strength: int) -> Meeting:
    values = [(name, repr(value)) for name, value in item.callspec.params.items()]
    return frozenset(combinations(values, min(strength, len(values))))
