"""The view ``schedule``: the loops of a compiled kernel, cycle by cycle."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

from wave_core.plugin import ViewResult
from wave_passes_scheduling.files.match import schedule_file
from wave_passes_scheduling.files.storage import write_json
from wave_passes_scheduling.passes import PlannedLoop, ScheduleLoops
from wave_passes_scheduling.views.gantt import draw
from wave_passes_scheduling.views.tables import TITLES, cluster_rows, tables

if TYPE_CHECKING:
    from wave_core.compile.kernel import WaveKernel
    from wave_core.plugin import ViewRequest


@dataclass(frozen=True)
class ScheduleView:
    """The schedules of a kernel as JSON and picture."""

    kernel: str
    loops: tuple[PlannedLoop, ...]

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values; each schedule as in a file."""
        return {"kernel": self.kernel, "loops": [_document(x) for x in self.loops]}

    def svg(self) -> str:
        """The Gantt chart of the first loop that has a schedule."""
        for loop in self.loops:
            if loop.schedule is not None:
                title = f"{self.kernel}, loop {loop.analysed.loop.axis}"
                return draw(loop.schedule, title)
        return '<svg xmlns="http://www.w3.org/2000/svg"/>\n'


def _document(loop: PlannedLoop) -> dict[str, object]:
    name = str(loop.analysed.loop.axis)
    if loop.schedule is None:
        return {"loop": name, "reason": loop.reason}
    file = write_json(schedule_file(loop.analysed, loop.schedule))
    pressure = loop.schedule.pressure()
    return {"loop": name, "registers": pressure, "schedule": json.loads(file)}


def schedule(request: ViewRequest) -> ViewResult:
    """The schedules of a compiled kernel as tables, JSON and a picture."""
    kernel = cast("WaveKernel", request.compiled)
    view = view_of(kernel)
    clusters = tuple(cluster_rows(kernel.compiled.lowered))
    document = view.to_json() | {"clusters": [asdict(row) for row in clusters]}
    found = tables(view.loops)
    if clusters:
        found = (*found, (TITLES, tuple(row.cells for row in clusters)))
    return ViewResult(document, found, view.svg())


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
    context = plugins.pass_context(compiled.target, schedule=compiled.schedule)
    loops = cast("ScheduleLoops", step).plan(graph, context)
    return ScheduleView(found.name, tuple(loops))
