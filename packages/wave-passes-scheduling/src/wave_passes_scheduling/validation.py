"""Moves of single tasks, with repair of the others under true latencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_passes_scheduling.modulo.reservation import ReservationTable
from wave_passes_scheduling.modulo.schedule import Schedule
from wave_passes_scheduling.paths import longest_paths
from wave_passes_scheduling.problem import NO_PATH

if TYPE_CHECKING:
    from wave_passes_scheduling.problem import Array, LoopProblem


@dataclass(frozen=True)
class MoveResult:
    """The outcome of a move.

    Attributes:
        schedule: The repaired schedule; ``None`` where the move is refused.
        moved: The tasks that changed their cycle, by name, in program order.
        reason: Why it is refused: the dependence or the resource that fails.
    """

    schedule: Schedule | None
    moved: tuple[str, ...] = ()
    reason: str = ""

    def __bool__(self) -> bool:
        """Whether the move was made."""
        return self.schedule is not None


class ScheduleValidator:
    """Checks a schedule and tries moves on it.

    A task that moves earlier takes those before it along (backward repair, the latest
    first); one that moves later takes those after it along (forward repair, the
    earliest first). Latencies and distances are those of the problem. Nothing moves
    before cycle 0, unless ``floor`` is lower.
    """

    def __init__(self, schedule: Schedule, *, floor: int = 0) -> None:
        """Start from a schedule.

        Raises:
            ValueError: it breaks a dependence or a resource.
        """
        found = schedule.violations()
        if found:
            raise ValueError("; ".join(found))
        self.schedule = schedule
        self._floor = floor
        self._lengths = longest_paths(schedule.problem).at(schedule.interval)

    def attempt_move(self, name: str, cycle: int) -> MoveResult:
        """Move a task to a cycle; keeps the new schedule where that works.

        Raises:
            KeyError: no task has that name.
        """
        problem = self.schedule.problem
        task = {each.name: i for i, each in enumerate(problem.tasks)}[name]
        if cycle < self._floor:
            return MoveResult(None, reason=f"{name} cannot start before {self._floor}")
        repair = _Repair(self.schedule, self._lengths, self._floor)
        result = repair.run(task, cycle)
        if result.schedule is not None:
            self.schedule = result.schedule
        return result


class _Repair:
    """One move: tasks are placed again one by one, as near their cycle as can be."""

    def __init__(self, schedule: Schedule, lengths: Array, floor: int) -> None:
        self._before = schedule
        self._problem: LoopProblem = schedule.problem
        self._lengths = lengths
        self._floor = floor
        self._starts = np.array(schedule.cycles, np.int64)
        self._placed = np.zeros(len(self._starts), np.bool_)
        self._table = ReservationTable(self._problem, schedule.interval)

    def run(self, task: int, cycle: int) -> MoveResult:
        earlier = cycle < self._starts[task]
        if not self._table.fits(task, cycle):
            return MoveResult(None, reason=f"{self._name(task)} alone is too much")
        self._place(task, cycle)
        order = np.argsort(self._starts, kind="stable")
        for other in (order[::-1] if earlier else order).tolist():
            if other != task:
                reason = self._settle(other, earlier=earlier)
                if reason:
                    return MoveResult(None, reason=reason)
        return self._result()

    def _settle(self, task: int, *, earlier: bool) -> str:
        """Place a task within its window; why that fails, if it does."""
        low, high = self._window(task)
        if high < self._floor:
            return self._too_early(task, high)
        low = max(low, self._floor)
        wish = int(min(max(int(self._starts[task]), low), high))
        interval = self._before.interval
        down = range(wish, max(low, wish - interval + 1) - 1, -1)
        up = range(wish, min(high, wish + interval - 1) + 1)
        for cycle in (*down, *up) if earlier else (*up, *down):
            if self._table.fits(task, cycle):
                self._place(task, cycle)
                return ""
        return (
            f"{self._name(task)} finds no free resource in cycles {low} to"
            f" {min(high, wish + interval - 1)}"
        )

    def _window(self, task: int) -> tuple[int, int]:
        at = np.flatnonzero(self._placed)
        starts = self._starts[at]
        low = (starts + self._lengths[at, task]).max()
        high = (starts - self._lengths[task, at]).min()
        return int(low), int(high)

    def _too_early(self, task: int, high: int) -> str:
        """The dependence through which a task would have to start too early."""
        for row in self._problem.dependences:
            if row.source == task and self._lengths[row.target, row.target] > NO_PATH:
                limit = int(self._starts[row.target]) - row.latency
                limit += row.distance * self._before.interval
                if self._placed[row.target] and limit <= high:
                    text = self._problem.describe(row)
                    return f"{text}: {self._name(task)} would start at {limit}"
        return f"{self._name(task)} would start at {high}"

    def _place(self, task: int, cycle: int) -> None:
        self._table.place(task, cycle)
        self._starts[task] = cycle
        self._placed[task] = True

    def _result(self) -> MoveResult:
        cycles = self._starts.tolist()
        moved = tuple(
            self._problem.tasks[i].name
            for i, (old, new) in enumerate(
                zip(self._before.cycles, cycles, strict=True)
            )
            if old != new
        )
        found = Schedule(self._problem, self._before.interval, tuple(cycles))
        return MoveResult(found, moved)

    def _name(self, task: int) -> str:
        return self._problem.tasks[task].name
