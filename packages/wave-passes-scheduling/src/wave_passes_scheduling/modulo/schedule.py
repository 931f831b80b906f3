"""A schedule of a loop, and whether it is right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wave_passes_scheduling.modulo.lifetimes import shorten_lifetimes
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

    def finer(self, problem: LoopProblem) -> Schedule:
        """The schedule of ``problem``, of which this one counts whole grains."""
        cycles = tuple(cycle * problem.grain for cycle in self.cycles)
        return Schedule(problem, self.interval * problem.grain, cycles)

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
        for row in self.problem.values:
            until = self.cycles[row.target] + row.distance * self.interval
            span = until - self.cycles[row.source]
            found[row.source] = max(int(found[row.source]), span)
        return found

    def pressure(self) -> int:
        """Registers of a lane that are alive at once in the steady state, at most."""
        sizes = np.array([task.registers for task in self.problem.tasks], np.int64)
        # Each value is alive for whole laps of the interval, and for part of one.
        laps, rests = np.divmod(self.lifetimes(), self.interval)
        begins = np.array(self.cycles, np.int64) % self.interval
        steps = np.zeros(2 * self.interval + 1, np.int64)
        np.add.at(steps, begins, sizes)
        np.add.at(steps, begins + rests, -sizes)
        alive = steps.cumsum()[:-1].reshape(2, self.interval).sum(axis=0)
        return self.problem.held + int((sizes * laps).sum() + alive.max(initial=0))

    def moves(self) -> int:
        """Registers that an iteration moves, so that the next does not overwrite them.

        These are of values that live longer than an interval.
        """
        sizes = np.array([task.registers for task in self.problem.tasks], np.int64)
        laps = np.maximum(self.lifetimes() - 1, 0) // self.interval
        return int((sizes * laps).sum())

    @property
    def fits(self) -> bool:
        """Whether there are registers for all that is alive, and time for moves."""
        room, move = self.problem.room, self.problem.move
        if room is not None and self.pressure() > room:
            return False
        if move is None:
            return True
        taken = self.problem.totals[move.resource] + move.cycles * self.moves()
        return bool(taken <= self.interval * self.problem.units[move.resource])

    def needs(self) -> str:
        """The registers and the moves that it takes, beside what there is."""
        room = "any number" if self.problem.room is None else self.problem.room
        return (
            f"{self.pressure()} registers of {room},"
            f" and {self.moves()} moves in {self.interval} cycles"
        )

    def compact(self) -> Schedule:
        """The same stages and interval, and shorter lifetimes within each stage."""
        cycles = list(self.cycles)
        found = shorten_lifetimes(self.problem, self.interval, cycles, staged=True)
        return replace(self, cycles=tuple(found))

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
