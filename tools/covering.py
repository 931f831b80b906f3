"""Which combinations of parameters the tests run; the other ones are for fuzz."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Meeting = frozenset[tuple[tuple[str, str], ...]]
    """Values of arguments that stand together in one test."""


def leave_to_fuzz(items: Iterable[pytest.Item]) -> None:
    """Mark with ``fuzz`` what the mark ``covering`` of a test leaves out.

    ``covering(1)`` keeps a few combinations in which every value of every argument
    stands, ``covering(2)`` those in which any two values of two arguments meet: what
    two do to each other is seen in the tests, what three do with ``-m fuzz``.
    Source: D. R. Kuhn et al., Practical Combinatorial Testing, NIST SP 800-142.
    """
    tests: dict[object, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("covering"):
            tests[item.path, item.originalname].append(item)
    for rows in tests.values():
        mark = rows[0].get_closest_marker("covering")
        assert mark is not None, "all tests of one function have its marks"
        meetings = [_meetings(row, *mark.args) for row in rows]
        kept = cover(meetings)
        for number, row in enumerate(rows):
            if number not in kept:
                row.add_marker(pytest.mark.fuzz)


def cover(rows: Sequence[Meeting]) -> set[int]:
    """A few rows that have all the meetings that all rows have: most new ones first."""
    left = set[object]().union(*rows)
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


def _meetings(item: pytest.Function, strength: int) -> Meeting:
    values = [(name, repr(value)) for name, value in item.callspec.params.items()]
    return frozenset(combinations(values, min(strength, len(values))))
