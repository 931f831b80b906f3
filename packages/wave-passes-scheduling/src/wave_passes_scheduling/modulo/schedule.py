"""A schedule of a loop, and whether it is right."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wave_passes_scheduling.modulo.reservation import ReservationTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_passes_scheduling.problem import Array, LoopProblem


@dataclass(frozen=True)
class Schedule:
    """When each task of an iteration starts.

    Iteration ``i`` starts ``i * interval`` cycles after the first one.

    Attributes:
        problem: The loop.
        interval: Cycles from one iteration to the next.
        cycles: The start of each task, from 0.
    """

    problem: LoopProblem
    interval: int
    cycles: tuple[int, ...]

    @classmethod
    def of(cls, problem: LoopProblem, interval: int, cycles: Sequence[int]) -> Schedule:
        """A schedule whose first task starts in the first stage.

        Whole intervals are taken off, so the place in the interval stays.
        """
        first = min(cycles, default=0) // interval * interval
        return cls(problem, interval, tuple(int(c) - first for c in cycles))

    @property
    def stages(self) -> tuple[int, ...]:
        """The stage of each task: how many intervals after its iteration's start."""
        return tuple(cycle // self.interval for cycle in self.cycles)

    @property
    def depth(self) -> int:
        """How many stages there are: iterations in flight."""
        return max(self.stages, default=0) + 1

    @cached_property
    def table(self) -> Array:
        """Occupied units by cycle of the interval and by resource."""
        found = ReservationTable(self.problem, self.interval)
        for task, cycle in enumerate(self.cycles):
            found.place(task, cycle)
        return found.taken()

    def violations(self) -> tuple[str, ...]:
        """Faults: dependences that are broken, resources that are overfull."""
        return (*self._broken(), *self._overfull())

    def lifetimes(self) -> Array:
        """Cycles from each task's start to the last start of a user of its value."""
        found = np.zeros(self.problem.size, np.int64)
        for row in self.problem.dependences:
            if row.reason in {"data", "carried"}:
                until = self.cycles[row.target] + row.distance * self.interval
                found[row.source] = max(
                    int(found[row.source]), until - self.cycles[row.source]
                )
        return found

    def pressure(self) -> int:
        """Registers of a lane that are alive at once in the steady state, at most."""
        alive = np.zeros(self.interval, np.int64)
        spans = self.lifetimes()
        for task, (start, span) in enumerate(zip(self.cycles, spans, strict=True)):
            for cycle in range(start, start + int(span)):
                alive[cycle % self.interval] += self.problem.tasks[task].registers
        return int(alive.max(initial=0))

    def _broken(self) -> list[str]:
        found: list[str] = []
        for row in self.problem.dependences:
            earliest = self.cycles[row.source] + row.latency
            start = self.cycles[row.target] + row.distance * self.interval
            if start < earliest:
                text = self.problem.describe(row)
                found.append(f"{text}: starts at {start}, not before {earliest}")
        return found

    def _overfull(self) -> list[str]:
        units = self.problem.units
        return [
            f"{self.problem.resources[r].name} in cycle {c}:"
            f" {self.table[c, r]} of {units[r]}"
            for c, r in np.argwhere(self.table > units).tolist()
        ]
