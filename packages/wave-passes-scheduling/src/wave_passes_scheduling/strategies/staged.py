"""List scheduling within given stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_passes_scheduling.modulo.schedule import Schedule
from wave_passes_scheduling.orders import raise_to, sorted_by
from wave_passes_scheduling.problem import Dependence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_passes_scheduling.problem import LoopProblem, Use


class StageError(Exception):
    """Stages that a dependence forbids; the message names it."""


def staged_schedule(
    problem: LoopProblem,
    stages: Sequence[int],
    order: Sequence[int] | None = None,
    behind: Sequence[tuple[int, int]] = (),
) -> Schedule:
    """The schedule that keeps to ``stages`` and lists tasks by their urgency.

    Within an iteration of the loop, tasks of all stages are placed one by one as early
    as dependences and resources allow: those with the longest path to the end of the
    iteration first, or in the order given. The interval is what the iteration takes, or
    more where a dependence on an earlier iteration asks for it.

    Args:
        problem: The loop.
        stages: The stage of each task.
        order: The rank of each task, the smallest first; by urgency if left out.
        behind: Pairs of tasks of which the second is to start behind the first, though
            it may need nothing of it.

    Raises:
        StageError: a task would have to wait for one of a later iteration.
    """
    if problem.grain > 1:
        wide = problem.coarser(problem.grain)
        coarse = staged_schedule(wide, stages, order, behind)
        return coarse.finer(problem)
    near, far = _sorted_out(problem, stages)
    near += [Dependence(first, second, 1, 0, "order") for first, second in behind]
    ranks = order if order is not None else [-u for u in _urgency(problem, near)]
    places = _list_schedule(problem, near, ranks)
    length = 1 + max(places, default=0)
    for task, place in zip(problem.tasks, places, strict=True):
        length = max(length, *(place + u.offset + u.cycles for u in task.uses), 1)
    for row, iterations in far:
        wait = row.latency + places[row.source] - places[row.target]
        length = max(length, -(-wait // iterations))
    cycles = [s * length + p for s, p in zip(stages, places, strict=True)]
    return Schedule.of(problem, length, cycles)


def _sorted_out(
    problem: LoopProblem, stages: Sequence[int]
) -> tuple[list[Dependence], list[tuple[Dependence, int]]]:
    """Dependences within an iteration, and those over iterations with how many."""
    near: list[Dependence] = []
    far: list[tuple[Dependence, int]] = []
    for row in problem.dependences:
        iterations = row.distance + stages[row.target] - stages[row.source]
        if iterations < 0:
            raise StageError(
                f"{problem.describe(row)} does not hold: {stages[row.source]} is the"
                f" stage of the one, {stages[row.target]} that of the other"
            )
        if iterations:
            far.append((row, iterations))
        elif row.source != row.target:
            near.append(row)
    return near, far


def _urgency(problem: LoopProblem, near: list[Dependence]) -> list[int]:
    """The longest path from each task to the end of the iteration."""
    found = [0] * problem.size
    if raise_to(found, [(row.target, row.source, row.latency) for row in near]):
        return found
    raise StageError("tasks of one iteration wait for each other in a circle")


def _list_schedule(
    problem: LoopProblem, near: list[Dependence], ranks: Sequence[int]
) -> list[int]:
    """The cycle of each task within the iteration."""
    before: list[list[Dependence]] = [[] for _ in problem.tasks]
    for row in near:
        before[row.target].append(row)
    key = {task: (ranks[task], task) for task in range(problem.size)}
    taken: list[list[int]] = [[] for _ in problem.resources]
    places = [0] * problem.size
    for task in sorted_by(key, [(row.source, row.target) for row in near]):
        earliest = max((places[r.source] + r.latency for r in before[task]), default=0)
        places[task] = _first_free(problem, taken, task, earliest)
    return places


def _first_free(
    problem: LoopProblem, taken: list[list[int]], task: int, cycle: int
) -> int:
    """The first cycle from ``cycle`` on at which all that a task uses is free."""
    uses = problem.tasks[task].uses
    while (later := _start_after_clash(problem, taken, uses, cycle)) is not None:
        cycle = later
    for use in uses:
        load = taken[use.resource]
        first, last = cycle + use.offset, cycle + use.offset + use.cycles
        load.extend([0] * (last - len(load)))
        load[first:last] = [count + use.units for count in load[first:last]]
    return cycle


def _start_after_clash(
    problem: LoopProblem, taken: list[list[int]], uses: Sequence[Use], cycle: int
) -> int | None:
    """The start after the last cycle that is full for a task which starts at ``cycle``.

    No start in between avoids that cycle. ``None`` where all that it uses is free.
    """
    for use in uses:
        load, most = taken[use.resource], problem.resources[use.resource].units
        first = cycle + use.offset
        for place in reversed(range(first, min(first + use.cycles, len(load)))):
            if load[place] + use.units > most:
                return place - use.offset + 1
    return None
