"""A schedule as a chart: bars of tasks on the units of one interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import source_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.modulo.schedule import Schedule


@dataclass(frozen=True)
class ChartResource:
    """A unit of the machine.

    Attributes:
        name: Its name.
        units: How many there are.
        lanes: How many bars lie beside each other at most.
    """

    name: str
    units: int
    lanes: int


@dataclass(frozen=True)
class Bar:
    """A task on a resource. Units: cycles of the interval.

    Attributes:
        task, kind: The name of the task, and its class of operation.
        resource: What it occupies.
        lane: Which of the bars that lie beside each other.
        start, cycles: From when and for how long; beyond the interval's end it goes
            on at its begin.
        stage: The stage of the pipeline, from 0.
        source: The author's ``file:line``; empty where nobody knows.
    """

    task: str
    kind: str
    resource: str
    lane: int
    start: int
    cycles: int
    stage: int
    source: str


@dataclass(frozen=True)
class Chart:
    """One interval of a loop: ``interval`` cycles, ``stages`` iterations under way."""

    interval: int
    stages: int
    resources: tuple[ChartResource, ...]
    bars: tuple[Bar, ...]


def chart_of(analysed: ScheduledLoop, schedule: Schedule) -> Chart:
    """Each use of a unit as a bar beside those that it overlaps."""
    resources: list[ChartResource] = []
    bars: list[Bar] = []
    for index, resource in enumerate(schedule.problem.resources):
        found = list(_in_lanes(sorted(_uses(analysed, schedule, index))))
        lanes = 1 + max((bar.lane for bar in found), default=-1)
        if found:
            resources.append(ChartResource(resource.name, resource.units, lanes))
        bars += found
    return Chart(schedule.interval, schedule.depth, tuple(resources), tuple(bars))


_Use = tuple[int, int, int, str, str, str, str]
"""Start, cycles, stage, task, kind, resource and source."""


def _uses(analysed: ScheduledLoop, schedule: Schedule, resource: int) -> Iterator[_Use]:
    problem = schedule.problem
    for number, task in enumerate(problem.tasks):
        source = source_of(analysed.ops[number])
        for use in task.uses:
            if use.resource == resource:
                start = (schedule.cycles[number] + use.offset) % schedule.interval
                yield (start, use.cycles, schedule.stages[number], task.name, task.kind,
                       problem.resources[resource].name, source)  # fmt: skip


def _in_lanes(uses: list[_Use]) -> Iterator[Bar]:
    """The uses as bars, each in the first lane that is free."""
    ends: list[int] = []
    for start, cycles, stage, task, kind, resource, source in uses:
        free = [lane for lane, end in enumerate(ends) if end <= start]
        lane = free[0] if free else len(ends)
        if not free:
            ends.append(0)
        ends[lane] = start + cycles
        yield Bar(task, kind, resource, lane, start, cycles, stage, source)
