"""Lower bounds of the interval, from resources and recurrences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_passes_scheduling.paths import recurrence_interval

if TYPE_CHECKING:
    from wave_passes_scheduling.problem import LoopProblem


class Infeasible(Exception):  # noqa: N818 - a property of the loop, not a failure of ours
    """No schedule exists, or none at the interval that was asked for."""


@dataclass(frozen=True)
class Bounds:
    """Lower bounds of the initiation interval.

    Attributes:
        resources: What the busiest resource needs.
        recurrences: What the longest recurrence needs.
        busiest: The name of that resource; empty where nothing is used.
        recurrence: The dependences of that recurrence, as text.
    """

    resources: int
    recurrences: int
    busiest: str
    recurrence: tuple[str, ...]

    @property
    def interval(self) -> int:
        """The larger of the two."""
        return max(self.resources, self.recurrences)

    def explain(self) -> str:
        """Which of them decides, and through what."""
        if self.recurrences > self.resources:
            return "recurrence " + ", ".join(self.recurrence)
        return f"resource {self.busiest}" if self.busiest else "nothing"


def bounds_of(problem: LoopProblem) -> Bounds:
    """The lower bounds of a loop.

    Raises:
        Infeasible: a task waits for itself within an iteration, or wants more units
            than there are; the message names the tasks.
    """
    _check_uses(problem)
    found = recurrence_interval(problem)
    cycle = tuple(problem.describe(row) for row in found.cycle)
    if found.interval is None:
        raise Infeasible(f"tasks wait for themselves: {', '.join(cycle)}")
    if not problem.resources:
        return Bounds(1, found.interval, "", cycle)
    needed = -(-problem.totals // problem.units)
    busiest = int(np.argmax(needed))
    name = problem.resources[busiest].name if needed[busiest] else ""
    return Bounds(max(1, int(needed[busiest])), found.interval, name, cycle)


def _check_uses(problem: LoopProblem) -> None:
    for task in problem.tasks:
        for use in task.uses:
            resource = problem.resources[use.resource]
            if use.units > resource.units:
                raise Infeasible(
                    f"{task.name} needs {use.units} of {resource.name},"
                    f" the machine has {resource.units}"
                )
