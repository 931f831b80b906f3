"""Schedules as tables: the loops, what each stage does, what is occupied when."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from wave_passes_scheduling.modulo.bounds import bounds_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wave_passes_scheduling.modulo.schedule import Schedule
    from wave_passes_scheduling.passes import PlannedLoop

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
"""Titles and rows."""


def tables(loops: Sequence[PlannedLoop]) -> tuple[Table, ...]:
    """All tables: one of the loops, and two for each that has a schedule."""
    titles = ("loop", "interval", "stages", "registers", "what decides")
    found: list[Table] = [(titles, tuple(_summary(loop) for loop in loops))]
    for loop in loops:
        if loop.schedule is not None:
            found.append(_stages(loop.schedule))
            found.append(reservations(loop.schedule))
    return tuple(found)


def _summary(loop: PlannedLoop) -> tuple[str, ...]:
    name = str(loop.analysed.loop.axis)
    if loop.schedule is None:
        return name, "", "", "", loop.reason
    schedule = loop.schedule
    numbers = (schedule.interval, schedule.depth, schedule.pressure())
    bounds = bounds_of(schedule.problem)
    why = f"{bounds.explain()}: at least {bounds.interval} cycles"
    return name, *map(str, numbers), why


def _stages(schedule: Schedule) -> Table:
    """The operations of each stage by kind, from their first to their last."""
    tasks = schedule.problem.tasks
    rows = sorted(
        (stage, cycle % schedule.interval, task.kind)
        for stage, cycle, task in zip(
            schedule.stages, schedule.cycles, tasks, strict=True
        )
        if task.uses
    )
    starts: dict[tuple[int, str], list[int]] = {}
    for stage, cycle, kind in rows:
        starts.setdefault((stage, kind), []).append(cycle)
    found = tuple(
        (str(stage), kind, str(len(cycles)), _span(cycles[0], cycles[-1]))
        for (stage, kind), cycles in starts.items()
    )
    return ("stage", "operations", "number", "start in cycles"), found


def reservations(schedule: Schedule) -> Table:
    """The reservation table: units in use; cycles that are alike share a row."""
    resources = schedule.problem.resources
    titles = ("cycles", *(f"{row.name} (of {row.units})" for row in resources))
    rows = tuple(
        (_span(first, last), *map(str, used))
        for first, last, used in _runs(schedule.table.tolist())
    )
    return titles, rows


def _runs(
    rows: Iterable[Sequence[int]],
) -> Iterator[tuple[int, int, Sequence[int]]]:
    """Equal rows that follow each other: the first, the last, and what they are."""
    for used, run in groupby(enumerate(rows), key=lambda row: row[1]):
        cycles = [cycle for cycle, _ in run]
        yield cycles[0], cycles[-1], used


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"
