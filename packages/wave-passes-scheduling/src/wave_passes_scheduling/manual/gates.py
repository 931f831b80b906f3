"""The order of places, as a part of a scheduling problem."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from wave_passes_scheduling.problem import Dependence, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_passes_scheduling.manual.times import Listed
    from wave_passes_scheduling.problem import LoopProblem


def with_gates(
    problem: LoopProblem, listed: Listed, stages: Sequence[int]
) -> tuple[LoopProblem, list[int]]:
    """The problem with tasks between the places of each unit, and all their stages.

    Within an iteration of the loop, what uses a unit at one place starts before what
    uses it at later ones, whatever the iterations. Tasks on different units run beside
    each other, as their dependences let them.
    """
    tasks = list(problem.tasks)
    rows = list(problem.dependences)
    wait = problem.grain
    for groups in _groups(problem, listed):
        for before, after in pairwise(groups):
            gate = len(tasks)
            tasks.append(Task(f"gate_{gate}", "Gate"))
            # Distances undo the stages: both ends are in the same iteration.
            rows += [Dependence(t, gate, wait, stages[t], "place") for t in before]
            rows += [Dependence(gate, t, 0, -stages[t], "place") for t in after]
    gates = len(tasks) - problem.size
    wider = replace(problem, tasks=tuple(tasks), dependences=tuple(rows))
    return wider, [*stages, *([0] * gates)]


def _groups(problem: LoopProblem, listed: Listed) -> list[list[list[int]]]:
    """For each unit the listed tasks that use it, by place; empty places left out."""
    found: list[list[list[int]]] = []
    for resource in range(len(problem.resources)):
        by_place: list[list[int]] = [[] for _ in range(listed.length)]
        for task, place in listed.places.items():
            if any(use.resource == resource for use in problem.tasks[task].uses):
                by_place[place].append(task)
        found.append([tasks for tasks in by_place if tasks])
    return found
