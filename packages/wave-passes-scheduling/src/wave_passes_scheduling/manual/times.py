"""Stages of the ops that a schedule lists, and of those that it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_passes_scheduling.problem import Dependence, LoopProblem


@dataclass(frozen=True)
class Listed:
    """Where a schedule puts the ops that it lists.

    Attributes:
        stages: By task.
        places: By task: the place within its stage, from 0.
        length: How many places a stage has.
        depth: How many stages there are.
    """

    stages: Mapping[int, int]
    places: Mapping[int, int]
    length: int
    depth: int

    def time(self, task: int) -> int:
        """The place of a task, counted through all stages."""
        return self.stages[task] * self.length + self.places[task]


def broken_chain(problem: LoopProblem, listed: Listed) -> list[Dependence]:
    """Dependences, one after the other, that lead back to an earlier place.

    The first one starts at a listed task and the last one ends at one; what lies
    between is not listed. Empty where all listed tasks keep their dependences, each
    place counted as one unit of time and an iteration as a stage.
    """
    reached: dict[int, int] = {task: listed.time(task) for task in listed.stages}
    through: dict[int, Dependence] = {}
    changed = True
    while changed:
        changed = False
        for row in problem.dependences:
            if row.source not in reached or row.source == row.target:
                continue
            earliest = reached[row.source] - row.distance * listed.length
            if earliest <= reached.get(row.target, earliest - 1):
                continue
            if row.target in listed.stages:
                return _chain(through, listed, row)
            reached[row.target], through[row.target] = earliest, row
            changed = True
    return []


def _chain(
    through: Mapping[int, Dependence], listed: Listed, last: Dependence
) -> list[Dependence]:
    rows = [last]
    while rows[-1].source not in listed.stages:
        rows.append(through[rows[-1].source])
    return rows[::-1]


def all_stages(problem: LoopProblem, listed: Listed) -> list[int]:
    """A stage for each task: the listed one, or the last that its users allow.

    Right where `broken_chain` finds nothing: bounds on differences that have a
    solution are met by the largest one.
    """
    last = listed.depth - 1
    stages = [listed.stages.get(task, last) for task in range(problem.size)]
    changed = True
    while changed:
        changed = False
        for row in reversed(problem.dependences):
            limit = stages[row.target] + row.distance
            if row.source not in listed.stages and stages[row.source] > limit:
                stages[row.source] = limit
                changed = True
    return stages
