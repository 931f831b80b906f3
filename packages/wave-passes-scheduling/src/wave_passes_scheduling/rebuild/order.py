"""The order in which the kernel loop of a schedule issues its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_passes_scheduling.orders import sorted_by

if TYPE_CHECKING:
    from wave_passes_scheduling.modulo.schedule import Schedule


def kernel_order(schedule: Schedule) -> list[int]:
    """Tasks by their cycle in the interval; what waits within an iteration comes later.

    A dependence holds within an iteration if its source is as many stages later as its
    distance: then both work on iterations that far apart.
    """
    stages = schedule.stages
    near = [
        (row.source, row.target)
        for row in schedule.problem.dependences
        if stages[row.source] == stages[row.target] + row.distance
        and row.source != row.target
    ]
    places = {task: (*place, task) for task, place in enumerate(_issued(schedule))}
    return sorted_by(places, near)


def _issued(schedule: Schedule) -> list[tuple[int, int]]:
    """The cycle of the interval in which each task is issued, and behind which task.

    What is queued is issued right behind what it adds to: its unit begins with it when
    that is done. What only shows its result, to nobody before the iteration ends, comes
    last, since code generators wait before they show it.
    """
    tasks, stages = schedule.problem.tasks, schedule.stages
    cycles = (cycle % schedule.interval for cycle in schedule.cycles)
    found = [(cycle, task) for task, cycle in enumerate(cycles)]
    rows = [r for r in schedule.problem.dependences if not r.distance]
    made = [r for r in rows if tasks[r.source].queued and r.source != r.target]
    for row in sorted(made, key=lambda row: schedule.cycles[row.source]):
        if tasks[row.target].queued and stages[row.source] == stages[row.target]:
            found[row.target] = found[row.source]
    used = {row.source for row in rows}
    for row in made:
        if tasks[row.target].view and row.target not in used:
            found[row.target] = schedule.interval, row.target
    return found
