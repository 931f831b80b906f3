"""Schedules as rows, and the text format in which they are read and written.

A header with interval and stages; optionally the reservation table; the table of
nodes, with a dashed row before each stage. A file that was written reads back to the
same rows, and what was read is written byte for byte as it was, if its columns are as
wide as the widest cell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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


COLUMNS = (
    "Node Name",
    "Node Type",
    "Node Sort Key",
    "Cycle",
    "Relative Cycle",
    "Stage",
    "User Sort Keys",
)

# The width that a column has at least, whatever stands in it.
_WIDTHS = (27, 13, 15, 7, 16, 7, 28)

_TABLE_COMMENT = (
    "# Resource Reservation Table (RRT):",
    "# Each row represents a cycle in the initiation interval",
    "# Each column represents a resource type",
    "# Format: cycle | resource_usage",
)

_PROFILE = "# Cost profile: "

# Numbers of more digits come from no schedule.
_NUMBER = re.compile(r"[0-9]{1,18}")
_KEY = re.compile(r"\(([0-9]{1,18}(?:,\s*[0-9]{1,18})*),?\)")
_HEADER = re.compile(r"(Initiation Interval|Number of Stages):\s*([0-9]{1,18})\s*")


def write_text(schedule: ScheduleFile) -> str:
    """A schedule as text; ends with a newline."""
    lines = [
        f"Initiation Interval: {schedule.interval}",
        f"Number of Stages: {schedule.stages}",
        *([f"{_PROFILE}{schedule.profile}"] if schedule.profile else []),
        "",
    ]
    if schedule.resources:
        lines += [*_TABLE_COMMENT, "", *_reservations(schedule), ""]
    return "\n".join([*lines, *_nodes(schedule)]) + "\n"


def _reservations(schedule: ScheduleFile) -> list[str]:
    widths = [len(name) for name in schedule.resources]
    lines = [
        " | ".join(("Cycle", *schedule.resources)),
        " | ".join(["-" * 5, *("-" * width for width in widths)]),
    ]
    for cycle, row in enumerate(schedule.reservations):
        cells = [f"{count:>{width}}" for count, width in zip(row, widths, strict=True)]
        lines.append(" | ".join([f"{cycle:>5}", *cells]))
    return lines


def _nodes(schedule: ScheduleFile) -> list[str]:
    cells = [_cells(row, schedule.interval) for row in schedule.rows]
    widths = [
        max([least, *(len(row[i]) for row in cells)]) for i, least in enumerate(_WIDTHS)
    ]
    rule = " | ".join("-" * width for width in widths)
    lines = [_line(COLUMNS, widths)]
    stage = None
    for row, texts in zip(schedule.rows, cells, strict=True):
        if row.cycle // schedule.interval != stage:
            stage = row.cycle // schedule.interval
            lines.append(rule)
        lines.append(_line(texts, widths))
    return lines


def _cells(row: ScheduleRow, interval: int) -> tuple[str, ...]:
    stage, relative = divmod(row.cycle, interval)
    users = ", ".join(_key_text(key) for key in row.users)
    numbers = (str(row.cycle), str(relative), str(stage))
    return (row.name, row.kind, _key_text(row.key), *numbers, users)


def _key_text(key: SortKey) -> str:
    return f"({key[0]},)" if len(key) == 1 else f"({', '.join(map(str, key))})"


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    cells = [f"{text:<{width}}" for text, width in zip(texts, widths, strict=True)]
    return " | ".join(cells).rstrip()


def read_text(text: str) -> ScheduleFile:
    """A schedule from text; the reservation table may be left out.

    Raises:
        ScheduleSyntaxError: a line that does not belong there, with its number.
    """
    header: dict[str, int] = {}
    tables: dict[str, list[tuple[int, list[str]]]] = {"Cycle": [], "Node Name": []}
    titles: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _HEADER.fullmatch(line)
        if found:
            header[found[1]] = int(found[2])
        elif line.strip() and not line.startswith("#") and set(line) - set("-| "):
            cells = [cell.strip() for cell in line.split("|")]
            if cells[0] in tables:
                titles, current = cells, cells[0]
                tables[current].append((number, cells))
            elif titles and len(cells) == len(titles):
                tables[titles[0]].append((number, cells))
            else:
                raise ScheduleSyntaxError(number, f"neither header nor row: {line!r}")
    found = _file(header, tables["Cycle"], tables["Node Name"])
    named = [line for line in text.splitlines() if line.startswith(_PROFILE)]
    return replace(found, profile=named[0].removeprefix(_PROFILE)) if named else found


def _file(
    header: dict[str, int],
    reservations: list[tuple[int, list[str]]],
    nodes: list[tuple[int, list[str]]],
) -> ScheduleFile:
    for name in ("Initiation Interval", "Number of Stages"):
        if header.get(name, 0) < 1:
            raise ScheduleSyntaxError(1, f"`{name}: N` is missing or not positive")
    interval = header["Initiation Interval"]
    rows = tuple(_row(number, cells, interval) for number, cells in nodes[1:])
    if not rows:
        raise ScheduleSyntaxError(1, "there is no table of nodes")
    resources = tuple(reservations[0][1][1:]) if reservations else ()
    table = tuple(_counts(number, cells) for number, cells in reservations[1:])
    found = ScheduleFile(interval, header["Number of Stages"], resources, table, rows)
    check_rows(found)
    return found


def _row(number: int, cells: list[str], interval: int) -> ScheduleRow:
    if len(cells) != len(COLUMNS):
        titles = ", ".join(COLUMNS)
        raise ScheduleSyntaxError(number, f"the columns of a node are {titles}")
    name, kind, key, cycle, relative, stage, users = cells
    keys = _keys(number, key)
    counts = _counts(number, ["", cycle, relative, stage])
    if len(keys) != 1:
        raise ScheduleSyntaxError(number, f"{key!r} is no sort key, such as (3,)")
    if (counts[2], counts[1]) != divmod(counts[0], interval):
        raise ScheduleSyntaxError(
            number,
            f"cycle {cycle} is in stage {counts[0] // interval} at"
            f" {counts[0] % interval}, not in stage {stage} at {relative}",
        )
    return ScheduleRow(name, kind, keys[0], counts[0], _keys(number, users), number)


def _keys(number: int, text: str) -> tuple[SortKey, ...]:
    found = tuple(
        tuple(int(part) for part in re.findall(r"\d+", match[1]))
        for match in _KEY.finditer(text)
    )
    if _KEY.sub("", text).strip(", "):
        raise ScheduleSyntaxError(number, f"{text!r} is no list of sort keys")
    return found


def _counts(number: int, cells: list[str]) -> tuple[int, ...]:
    for cell in cells[1:]:
        if not _NUMBER.fullmatch(cell):
            raise ScheduleSyntaxError(number, f"{cell!r} is no number")
    return tuple(int(cell) for cell in cells[1:])
