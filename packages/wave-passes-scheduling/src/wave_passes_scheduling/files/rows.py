"""The rows of a schedule file."""

from __future__ import annotations

from dataclasses import dataclass

SortKey = tuple[int, ...]

MAX_INTERVAL = 1 << 16
"""Cycles from one iteration to the next; a reservation table has a row for each."""


class ScheduleSyntaxError(ValueError):
    """A schedule file that cannot be read; ``line`` counts from 1, 0 for none."""

    def __init__(self, line: int, message: str) -> None:
        """Say which line, and what is wrong with it."""
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line


@dataclass(frozen=True)
class ScheduleRow:
    """One node of the schedule.

    Attributes:
        name: The node's name.
        kind: Its class of operation.
        key: Its sort key, which identifies it.
        cycle: When it starts.
        users: The sort keys of nodes that use its value.
        line: The line of the file, from 1; 0 if it was not read from one.
    """

    name: str
    kind: str
    key: SortKey
    cycle: int
    users: tuple[SortKey, ...]
    line: int = 0


@dataclass(frozen=True)
class ScheduleFile:
    """A schedule, as it is written to a file.

    Attributes:
        interval: Cycles from one iteration to the next.
        stages: How many stages there are.
        resources: The names of the resources; empty without a reservation table.
        reservations: Occupied units, one row for each cycle of the interval.
        rows: The nodes.
        profile: The cost profile that latencies come from; empty if it is not named.
    """

    interval: int
    stages: int
    resources: tuple[str, ...]
    reservations: tuple[tuple[int, ...], ...]
    rows: tuple[ScheduleRow, ...]
    profile: str = ""


def check_rows(schedule: ScheduleFile) -> None:
    """Refuse rows that do not go with each other, or with the numbers above them.

    Raises:
        ScheduleSyntaxError: an interval or a cycle that cannot be, or a sort key that
            stands twice.
    """
    interval, stages = schedule.interval, schedule.stages
    if not 1 <= interval <= MAX_INTERVAL or not schedule.rows:
        what = f"there is no interval from 1 to {MAX_INTERVAL}, or there are no rows"
        raise ScheduleSyntaxError(0, what)
    known: dict[SortKey, ScheduleRow] = {}
    for row in schedule.rows:
        if row.key in known:
            other = known[row.key]
            where = f"line {other.line}" if other.line else f"`{other.name}`"
            message = f"sort key {row.key} stands on {where} too"
            raise ScheduleSyntaxError(row.line, message)
        known[row.key] = row
        if not 0 <= row.cycle < stages * interval:
            message = f"cycle {row.cycle} is beyond {stages} stages of {interval}"
            raise ScheduleSyntaxError(row.line, message)
