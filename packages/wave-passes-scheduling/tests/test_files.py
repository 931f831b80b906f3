"""Schedule files: read, written, and refused with the line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wave_core.diagnostics import UserError
from wave_passes_scheduling.files.match import CARRIED
from wave_passes_scheduling.files.storage import load_schedule, read_json, write_json
from wave_passes_scheduling.files.text import ScheduleSyntaxError, read_text, write_text
from wave_passes_scheduling.loops.costs import OpKind, unit_profile
from wave_passes_scheduling.modulo.schedule import Schedule
from wave_passes_scheduling.problem import Dependence, LoopProblem, Task

EXAMPLE = (Path(__file__).parent / "data" / "schedule_example.txt").read_text("utf-8")


def schedule_of(file, profile):
    """The schedule of a file without its kernel, dependences being those of its users.

    A value that a row of type ``IterArg`` carries is used in the next iteration.
    """
    number = {row.key: i for i, row in enumerate(file.rows)}
    carried = [row.kind == CARRIED for row in file.rows]
    kinds = [
        OpKind.NOOP if row.kind == CARRIED else OpKind(row.kind) for row in file.rows
    ]
    tasks = tuple(
        Task(row.name, row.kind, profile.uses(kind))
        for row, kind in zip(file.rows, kinds, strict=True)
    )
    edges = tuple(
        Dependence(i, number[user], profile.latency(kinds[i]), int(carried[i]))
        for i, row in enumerate(file.rows)
        for user in row.users
        if user in number
    )
    problem = LoopProblem(tasks, profile.resources, edges, profile.name)
    return Schedule(problem, file.interval, tuple(row.cycle for row in file.rows))


def test_the_example_is_written_as_it_was_read():
    assert write_text(read_text(EXAMPLE)) == EXAMPLE


def test_what_the_example_says():
    found = read_text(EXAMPLE)
    assert (found.interval, found.stages, len(found.rows)) == (3, 3, 24)
    assert found.reservations[0] == (2, 4, 4, 0, 0)
    assert found.rows[2].users == ((12,), (13,), (14,), (15,))


def test_the_example_is_right_with_unit_latencies():
    found = schedule_of(read_text(EXAMPLE), unit_profile())
    assert found.violations() == ()
    assert found.table.tolist() == [[*row] for row in read_text(EXAMPLE).reservations]


def test_a_broken_example_is_found_out():
    late = EXAMPLE.replace(
        "| 0       | 0                | 0 ", "| 1       | 1                | 0 ", 1
    )
    found = schedule_of(read_text(late), unit_profile())
    assert found.violations()[0].startswith("read_21 -> write_10 (latency 2)")


def test_the_reservation_table_is_optional():
    start, end = EXAMPLE.index("# Resource"), EXAMPLE.index("Node Name")
    text = EXAMPLE[:start] + EXAMPLE[end:]
    assert read_text(text).rows[0].cycle == 0
    assert write_text(read_text(text)) == text


LONG = "9" * 5000
"""More digits than Python reads."""


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("| (4,) ", "| four ", 17, "'four' is no list of sort keys"),
        ("| (4,) ", "| (6,) ", 18, "stands on line 17 too"),
        ("| 7       | 1 ", "| 7       | 2 ", 39, "cycle 7 is in stage 2 at 1"),
        ("Number of Stages: 3", "Number of Stages: 2", 35, "beyond 2 stages"),
        ("Initiation Interval: 3", "Initiation Interval: 0", 1, "not positive"),
        ("| ReadGlobal    | (4,)", "| ReadGlobal (4,)", 17, "neither header nor row"),
        ("| 3       | 0 ", "| three   | 0 ", 22, "'three' is no number"),
        ("| 3       | 0 ", f"| {LONG} | 0 ", 22, "is no number"),
        ("| (4,) ", f"| ({LONG},) ", 17, "is no list of sort keys"),
        ("Initiation Interval: 3", f"Initiation Interval: {LONG}", 1, "neither"),
    ],
)
def test_a_line_that_is_wrong_is_named(old, new, line, message):
    with pytest.raises(ScheduleSyntaxError, match=message) as caught:
        read_text(EXAMPLE.replace(old, new, 1))
    assert caught.value.line == line


def test_an_empty_file_is_refused():
    with pytest.raises(ScheduleSyntaxError, match="Initiation Interval"):
        read_text("")


def test_an_interval_that_no_table_holds_is_refused():
    long = replace(read_text(EXAMPLE), interval=65537)
    with pytest.raises(ScheduleSyntaxError, match="no interval from 1 to 65536"):
        read_json(write_json(long))


def test_a_table_without_some_columns_is_refused():
    rows = [line.rpartition("|")[0].rstrip() for line in EXAMPLE.splitlines()]
    whole = EXAMPLE.splitlines()
    start = next(i for i, line in enumerate(whole) if line.startswith("Node Name"))
    with pytest.raises(ScheduleSyntaxError, match="the columns of a node are") as found:
        read_text("\n".join([*whole[:start], *rows[start:]]))
    assert found.value.line > start


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{\n "interval": 3,\n "stages": ,\n', "line 3: JSON is malformed: invalid "),
        ('{\n "interval": 3,\n', "line 3: Input data was truncated"),
        ('{\n "interval": "x"\n}', "Expected `int`, got `str` - at `$.interval`"),
    ],
)
def test_json_that_cannot_be_read_is_told_with_its_line(text, says, tmp_path):
    path = tmp_path / "loop.json"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load_schedule(str(path))
    first, last = str(caught.value).splitlines()
    assert first.startswith(f"error[WV0505]: schedule file `{path}`: {says}")
    assert last == "  = help: `dump_schedule=` writes a file of the right form"
