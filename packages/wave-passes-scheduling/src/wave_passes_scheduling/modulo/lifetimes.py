"""Shorter lifetimes: fewer registers for the same interval.

A schedule leaves most tasks some room. Each task moves within it to where the values
that it makes and the values that it uses last live shortest, weighted by their
registers. The interval and the resources stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_passes_scheduling.modulo.reservation import ReservationTable

if TYPE_CHECKING:
    from wave_passes_scheduling.problem import Array, Dependence, LoopProblem

SWEEPS = 2
"""Sweeps over all tasks; more change little."""


def shorten_lifetimes(
    problem: LoopProblem, interval: int, lengths: Array, cycles: list[int]
) -> list[int]:
    """The cycles of a schedule at the same interval with no more live registers."""
    starts = np.array(cycles, np.int64)
    table = ReservationTable(problem, interval)
    for task, cycle in enumerate(cycles):
        table.place(task, cycle)
    values = _Values(problem, interval)
    span = int(starts.max(initial=0))
    for _ in range(SWEEPS):
        for task in np.argsort(-starts, kind="stable").tolist():
            low, high = _window(starts, lengths, task, span)
            table.remove(task)
            starts[task] = _best(table, values, starts, task, low, high)
            table.place(task, int(starts[task]))
    return starts.tolist()


def _window(starts: Array, lengths: Array, task: int, span: int) -> tuple[int, int]:
    """Cycles that the task may start in, all others staying; within the schedule."""
    others = np.arange(len(starts)) != task
    low = (starts + lengths[:, task])[others].max(initial=0)
    high = (starts - lengths[task])[others].min(initial=span)
    return int(low), int(high)


def _best(
    table: ReservationTable,
    values: _Values,
    starts: Array,
    task: int,
    low: int,
    high: int,
) -> int:
    """The free cycle of the window in which the values live shortest.

    Their lifetimes are a convex function of the cycle, so only the free cycles next
    to its minimum count.
    """
    now = int(starts[task])
    ideal = values.ideal(starts, task)(now, low, high)
    if ideal == now:
        return now
    near = table.nearest(task, ideal, low, high)
    return min((now, *near), key=lambda cycle: values.cost(starts, task, cycle))


@dataclass(frozen=True)
class _Valley:
    """A convex function of a cycle: where it is smallest.

    Attributes:
        bends: Where the slope grows, and by how much.
        slope: The slope before all of them.
    """

    bends: tuple[tuple[int, int], ...]
    slope: int

    def __call__(self, now: int, low: int, high: int) -> int:
        """The cycle of ``[low, high]`` nearest to ``now`` of those at the minimum."""
        slope, first, last = self.slope, low, low
        for place, growth in sorted(self.bends):
            if slope < 0:
                first = place
            if slope <= 0:
                last = place
            slope += growth
        if slope < 0:
            first = high
        if slope <= 0:
            last = high
        return max(low, min(max(first, min(now, last)), high))


class _Values:
    """Lifetimes of the values that a task makes and uses."""

    def __init__(self, problem: LoopProblem, interval: int) -> None:
        self._registers = [task.registers for task in problem.tasks]
        self._interval = interval
        self._users: list[list[Dependence]] = [[] for _ in problem.tasks]
        self._sources: list[set[int]] = [set() for _ in problem.tasks]
        for row in problem.dependences:
            if row.reason in {"data", "carried"} and row.source != row.target:
                self._users[row.source].append(row)
                self._sources[row.target].add(row.source)

    def cost(self, starts: Array, task: int, cycle: int) -> int:
        """Registers times cycles of these values, if the task started in ``cycle``."""
        made = self._until(starts, task, task, cycle) - cycle
        total = self._registers[task] * max(0, made)
        for source in self._sources[task]:
            alive = self._until(starts, source, task, cycle) - int(starts[source])
            total += self._registers[source] * alive
        return total

    def ideal(self, starts: Array, task: int) -> _Valley:
        """These values' cost by the cycle of ``task``, as a convex function."""
        bends: list[tuple[int, int]] = []
        own = self._registers[task] if self._users[task] else 0
        if own:
            bends.append((self._until(starts, task, task, 0), own))
        for source in self._sources[task]:
            rows = self._users[source]
            far = max(row.distance for row in rows if row.target == task)
            ends = [
                int(starts[row.target]) + (row.distance - far) * self._interval
                for row in rows
                if row.target != task
            ]
            begin = int(starts[source]) - far * self._interval
            bends.append((max([begin, *ends]), self._registers[source]))
        return _Valley(tuple(bends), -own)

    def _until(self, starts: Array, value: int, moved: int, cycle: int) -> int:
        ends = [
            (cycle if row.target == moved else int(starts[row.target]))
            + row.distance * self._interval
            for row in self._users[value]
        ]
        return max(ends, default=int(starts[value]) if value != moved else cycle)
