"""The cheapest choice of columns that meets every row, solved exactly.

Rows are bit sets of columns. For intervals, and for arcs of a circle once one column
is chosen, rules that drop dominated rows and columns leave nothing to search.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SEARCH_LIMIT = 20_000
"""Choices looked at beyond the rules; after that the best found so far stands."""


@dataclass(frozen=True, slots=True)
class Column:
    """A way to meet rows.

    Attributes:
        index: Its bit in the rows.
        cost: What it costs; the sum over the chosen ones is minimised.
        rank: Of columns that do the same, the one of the highest rank is taken.
    """

    index: int
    cost: int
    rank: tuple[int, ...] = ()


def cheapest_cover(rows: Sequence[int], columns: Sequence[Column]) -> list[int]:
    """Indices of columns of least total cost such that each row has one of them.

    Every row must contain a column. The result is sorted.
    """
    found: list[int] = []
    by_index = {column.index: column for column in columns}
    for group in _apart(_minimal(rows)):
        union = 0
        for row in group:
            union |= row
        own = [by_index[index] for index in _bits(union) if index in by_index]
        found += _cheapest(group, own)
    return sorted(found)


def _cheapest(rows: Sequence[int], columns: Sequence[Column]) -> list[int]:
    """The indices for rows of one group, those of few columns taken first."""
    rows = sorted(rows, key=_narrow)
    meets = [
        (sum(1 << i for i, row in enumerate(rows) if row >> c.index & 1), c)
        for c in columns
    ]
    search = _Search()
    search.run((1 << len(rows)) - 1, meets, [], 0)
    assert search.best is not None, "every row has a column"
    return search.best


def _apart(rows: Sequence[int]) -> list[list[int]]:
    """The rows in groups whose spans, first to last column, have none in common."""
    found: list[list[int]] = []
    end = 0
    for row in sorted(rows, key=_first):
        if _first(row) >= end:
            found.append([])
        found[-1].append(row)
        end = max(end, row.bit_length())
    return found


def _minimal(rows: Sequence[int]) -> list[int]:
    """The rows that contain no other row."""
    kept: dict[int, list[int]] = defaultdict(list)
    for row in sorted(set(rows), key=_narrow):
        inside = (other for index in _bits(row) for other in kept.get(index, ()))
        if not any(row & other == other for other in inside):
            kept[_first(row)].append(row)
    return [row for group in kept.values() for row in group]


def _narrow(row: int) -> tuple[int, int]:
    """The columns of a row, counted, and the row."""
    return row.bit_count(), row


def _first(row: int) -> int:
    """The first column of a row."""
    return (row & -row).bit_length() - 1


_Meets = tuple[int, Column]


class _Search:
    """Branch and bound; columns come with the set of rows that they meet."""

    def __init__(self) -> None:
        self.best: list[int] | None = None
        self._cost = 0
        self._left = SEARCH_LIMIT

    def run(
        self, open_: int, meets: list[_Meets], chosen: list[int], cost: int
    ) -> None:
        """Meet the rows ``open_``, ``chosen`` being taken already."""
        self._left -= 1
        meets = _useful(open_, meets)
        while open_:
            forced = _forced(open_, meets)
            if forced is None:
                break
            chosen, cost = [*chosen, forced[1].index], cost + forced[1].cost
            open_ &= ~forced[0]
            meets = _useful(open_, meets)
        if self.best is not None and cost + _bound(open_, meets) >= self._cost:
            return
        if not open_:
            self.best, self._cost = chosen, cost
            return
        for meet, column in self._choices(open_, meets):
            if self.best is not None and self._left <= 0:
                return
            rest = [m for m in meets if m[1] is not column]
            self.run(open_ & ~meet, rest, [*chosen, column.index], cost + column.cost)

    def _choices(self, open_: int, meets: list[_Meets]) -> list[_Meets]:
        """The columns of a row that has few, the best ones first."""
        row = min(_bits(open_), key=lambda r: sum(m >> r & 1 for m, _ in meets))
        found = [m for m in meets if m[0] >> row & 1]
        return sorted(
            found, key=lambda m: (m[1].cost, -(m[0] & open_).bit_count(), m[1].index)
        )


def _useful(open_: int, meets: list[_Meets]) -> list[_Meets]:
    """Columns that no other one replaces at no higher cost."""
    best: dict[int, Column] = {}
    for meet, column in meets:
        own = meet & open_
        other = best.get(own)
        if own and (other is None or _better(column, other)):
            best[own] = column
    rows = sorted(best.items(), key=lambda m: (-m[0].bit_count(), m[1].cost))
    kept: list[_Meets] = []
    for own, column in rows:
        if not any(own & o == own and c.cost <= column.cost for o, c in kept):
            kept.append((own, column))
    return kept


def _better(one: Column, other: Column) -> bool:
    return (-one.cost, one.rank, one.index) > (-other.cost, other.rank, other.index)


def _forced(open_: int, meets: list[_Meets]) -> _Meets | None:
    """The only column of some row."""
    once, twice = 0, 0
    for meet, _ in meets:
        twice |= once & meet
        once |= meet
    single = once & ~twice & open_
    return next((m for m in meets if m[0] & single), None)


def _bound(open_: int, meets: list[_Meets]) -> int:
    """A cost that rows without a column in common need at least."""
    total = 0
    for row in _bits(open_):
        if not open_ >> row & 1:
            continue
        own = [m for m in meets if m[0] >> row & 1]
        total += min((c.cost for _, c in own), default=0)
        for meet, _ in own:
            open_ &= ~meet
    return total


def _bits(value: int) -> Iterator[int]:
    """The numbers of the bits that are set, from the lowest."""
    offset = 0
    while value:
        skip = _first(value)
        offset += skip
        yield offset
        offset, value = offset + 1, value >> skip + 1
