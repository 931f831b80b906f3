"""The view ``schedule``: tables of the loops of a kernel, cycle by cycle."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, cast

from wave_core.ir import region_of
from wave_core.ops.control import Conditional, Iterate
from wave_core.ops.sync import SetWavePrio, SharedMemoryBarrier
from wave_core.plugin import ViewResult
from wave_passes_scheduling.files.match import schedule_file
from wave_passes_scheduling.files.storage import write_json
from wave_passes_scheduling.loops.costs import OCCUPIES, kind_of
from wave_passes_scheduling.modulo.bounds import bounds_of
from wave_passes_scheduling.passes import PlannedLoop, ScheduleLoops
from wave_passes_scheduling.reorder.stagger import TAG
from wave_passes_scheduling.views.chart import chart_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wave_core.compile.kernel import WaveKernel
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.plugin import ViewRequest
    from wave_passes_scheduling.modulo.schedule import Schedule

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
    room = schedule.problem.room
    registers = f"{schedule.pressure()}{'' if room is None else f' of {room}'}"
    numbers = (schedule.interval, schedule.depth, registers)
    bounds = bounds_of(schedule.problem)
    why = f"{bounds.explain()}: at least {bounds.interval} cycles"
    why = "; ".join((why, *loop.passed))
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


@dataclass(frozen=True)
class ClusterRow:
    """One cluster of a loop whose waves alternate.

    Attributes:
        loop: The axis of the loop.
        number: Which cluster of the body, from 0.
        ops: How many ops of each kind, in the order of the first of each.
        priority: The priority that the waves run it at.
        staggered: Whether halves of the waves run it a barrier apart.
    """

    loop: str
    number: int
    ops: tuple[tuple[str, int], ...]
    priority: int
    staggered: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """As a row of a table."""
        listed = ", ".join(f"{count} {kind}" for kind, count in self.ops)
        waves = "halves alternate" if self.staggered else "all together"
        return self.loop, str(self.number), listed, str(self.priority), waves


TITLES = ("loop", "cluster", "operations", "priority", "waves")
"""Headings of the cells of a row."""


def cluster_rows(graph: Graph) -> Iterator[ClusterRow]:
    """The clusters of the loops that were reordered for halves of the waves."""
    for op in graph.walk():
        if isinstance(op, Iterate) and TAG in op.tags:
            yield from _rows(op, staggered=is_staggered(op))


def is_staggered(loop: Iterate) -> bool:
    """Whether only some waves pass a barrier just before a loop."""
    ops = list(region_of(loop).ops)
    before = ops[max(0, ops.index(loop) - 1)]
    return isinstance(before, Conditional) and any(
        isinstance(op, SharedMemoryBarrier)
        for region in before.regions
        for op in region.ops
    )


def _rows(loop: Iterate, *, staggered: bool) -> Iterator[ClusterRow]:
    cluster: list[Op] = []
    number = 0
    for op in loop.body.ops:
        if not isinstance(op, SharedMemoryBarrier):
            cluster.append(op)
            continue
        counts = tuple(_counts(cluster).items())
        raised = _priority(cluster)
        yield ClusterRow(str(loop.axis), number, counts, raised, staggered)
        cluster, number = [], number + 1


def _counts(ops: Sequence[Op]) -> dict[str, int]:
    found: dict[str, int] = {}
    for op in ops:
        kind = kind_of(op)
        if OCCUPIES[kind]:
            found[str(kind)] = found.get(str(kind), 0) + 1
    return found


def _priority(ops: Sequence[Op]) -> int:
    return max((op.priority for op in ops if isinstance(op, SetWavePrio)), default=0)


@dataclass(frozen=True)
class ScheduleView:
    """The schedules of a kernel as JSON."""

    kernel: str
    loops: tuple[PlannedLoop, ...]

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values; each schedule as in a file."""
        return {"kernel": self.kernel, "loops": [_document(x) for x in self.loops]}


def _document(loop: PlannedLoop) -> dict[str, object]:
    name = str(loop.analysed.loop.axis)
    if loop.schedule is None:
        return {"loop": name, "reason": loop.reason}
    file = write_json(schedule_file(loop.analysed, loop.schedule))
    pressure = loop.schedule.pressure()
    room, passed = loop.schedule.problem.room, list(loop.passed)
    registers = {"registers": pressure, "room": room, "passed": passed}
    chart = asdict(chart_of(loop.analysed, loop.schedule))
    return {"loop": name, **registers, "schedule": json.loads(file), "chart": chart}


def schedule(request: ViewRequest) -> ViewResult:
    """The schedules of a compiled kernel as tables and JSON."""
    kernel = cast("WaveKernel", request.compiled)
    view = view_of(kernel)
    clusters = tuple(cluster_rows(kernel.compiled.lowered))
    document = view.to_json() | {"clusters": [asdict(row) for row in clusters]}
    found = tables(view.loops)
    if clusters:
        found = (*found, (TITLES, tuple(row.cells for row in clusters)))
    return ViewResult(document, found)


def view_of(found: WaveKernel) -> ScheduleView:
    """The schedules of a compiled kernel, made again from the graph before them."""
    compiled = found.compiled
    runner = compiled.plan.runner()
    name = ScheduleLoops.pass_name()
    names = compiled.plan.pipeline.names
    if name not in names:
        return ScheduleView(found.name, ())
    at = names.index(name)
    step = runner.load(compiled.plan.pipeline.passes[at])
    graph = compiled.after(names[at - 1]).clone()
    plugins = compiled.session.plugins
    context = plugins.pass_context(compiled.machine, schedule=compiled.schedule)
    loops = cast("ScheduleLoops", step).plan(graph, context)
    return ScheduleView(found.name, tuple(loops))
