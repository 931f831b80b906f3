"""Shorter lifetimes: fewer registers for the same interval.

A schedule leaves most tasks some room. Each task moves within it to where the values
that it makes and the values that it uses last live shortest, weighted by their
registers. The interval and the resources stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_passes_scheduling.modulo.links import Links
from wave_passes_scheduling.modulo.reservation import ReservationTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_passes_scheduling.problem import Dependence, LoopProblem

    Starts = Mapping[int, int]
    """The start of each task."""

SWEEPS = 2
"""Sweeps over all tasks; more change little."""


def shorten_lifetimes(
    problem: LoopProblem, interval: int, cycles: list[int], *, staged: bool = False
) -> list[int]:
    """The cycles of a schedule at the same interval with no more live registers.

    Args:
        problem: The loop.
        interval: Cycles from one iteration to the next.
        cycles: The starts of a right schedule, from 0.
        staged: Whether each task stays in its stage. Then views cost nothing;
            otherwise their registers count too, as those of parts do that are used
            far from the whole.
    """
    starts = dict(enumerate(cycles))
    table = ReservationTable(problem, interval)
    for task, cycle in starts.items():
        table.place(task, cycle)
    values, links = _Values(problem, interval, staged=staged), Links.of(problem)
    span = max(cycles, default=0)
    for _ in range(SWEEPS):
        for task in sorted(starts, key=lambda task: -starts[task]):
            # Within the schedule, and all others stay.
            first, last = 0, span
            if staged:
                first = starts[task] // interval * interval
                last = min(span, first + interval - 1)
            low = max(first, links.earliest(starts, task, interval, first))
            high = min(last, links.latest(starts, task, interval, last))
            table.remove(task)
            if staged and problem.tasks[task].view:
                # What it shows can be made as late as its first user needs it.
                starts[task] = high
            else:
                starts[task] = _best(table, values, starts, task, low, high)
            table.place(task, starts[task])
    return [starts[task] for task in range(problem.size)]


def _best(
    table: ReservationTable,
    values: _Values,
    starts: Starts,
    task: int,
    low: int,
    high: int,
) -> int:
    """The free cycle of the window in which the values live shortest.

    Their lifetimes are a convex function of the cycle, so only the free cycles next
    to its minimum count.
    """
    now = starts[task]
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

    def __init__(self, problem: LoopProblem, interval: int, *, staged: bool) -> None:
        self._registers = [task.registers for task in problem.tasks]
        self._interval = interval
        self._users: list[list[Dependence]] = [[] for _ in problem.tasks]
        self._sources: list[set[int]] = [set() for _ in problem.tasks]
        used = [r for r in problem.dependences if r.reason in {"data", "carried"}]
        for row in problem.values if staged else used:
            if row.source != row.target:
                self._users[row.source].append(row)
                self._sources[row.target].add(row.source)

    def cost(self, starts: Starts, task: int, cycle: int) -> int:
        """Registers times cycles of these values, if the task started in ``cycle``."""
        made = self._until(starts, task, task, cycle) - cycle
        total = self._registers[task] * max(0, made)
        for source in self._sources[task]:
            alive = self._until(starts, source, task, cycle) - starts[source]
            total += self._registers[source] * alive
        return total

    def ideal(self, starts: Starts, task: int) -> _Valley:
        """These values' cost by the cycle of ``task``, as a convex function."""
        bends: list[tuple[int, int]] = []
        own = self._registers[task] if self._users[task] else 0
        if own:
            bends.append((self._until(starts, task, task, 0), own))
        for source in self._sources[task]:
            rows = self._users[source]
            far = max(row.distance for row in rows if row.target == task)
            ends = [
                starts[row.target] + (row.distance - far) * self._interval
                for row in rows
                if row.target != task
            ]
            begin = starts[source] - far * self._interval
            bends.append((max([begin, *ends]), self._registers[source]))
        return _Valley(tuple(bends), -own)

    def _until(self, starts: Starts, value: int, moved: int, cycle: int) -> int:
        ends = [
            (cycle if row.target == moved else starts[row.target])
            + row.distance * self._interval
            for row in self._users[value]
        ]
        return max(ends, default=starts[value] if value != moved else cycle)
