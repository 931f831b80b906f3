"""Modulo scheduling: one pass from either end, and iterative, by slack.

At each interval the schedules of `one_pass` cost next to nothing. Beside them, or where
they fail, tasks are placed one by one, those with the least room first. The longest
paths to and from all placed tasks leave each task a window that is never empty, so
dependences alone never fail; where resources have no room in it, the task takes its
place and those in its way are placed again (Rau, "Iterative Modulo Scheduling", MICRO
1994; slack as priority: Huff, "Lifetime-Sensitive Modulo Scheduling", PLDI 1993). A few
orders are tried before the interval grows, as long as the search has steps left. Of the
schedules at one interval, that with the fewest registers counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wave_passes_scheduling.modulo.bounds import Infeasible, bounds_of
from wave_passes_scheduling.modulo.lifetimes import shorten_lifetimes
from wave_passes_scheduling.modulo.one_pass import one_pass
from wave_passes_scheduling.modulo.reservation import ReservationTable
from wave_passes_scheduling.modulo.schedule import Schedule
from wave_passes_scheduling.modulo.turns import turns_interval
from wave_passes_scheduling.paths import longest_paths
from wave_passes_scheduling.problem import NO_PATH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wave_passes_scheduling.paths import LongestPaths
    from wave_passes_scheduling.problem import Array, LoopProblem

ATTEMPTS = 24
"""Orders tried at each interval: by slack, by height, then slack with seeded noise."""

EFFORT = 1000
"""Orders times tasks that are tried at each interval: fewer orders for big loops."""

PLACEMENTS = 12
"""Placements of an attempt, for each task, before it is given up."""

BESIDE = 2
"""The same where there is a schedule already."""

WORK = 4_000_000
"""Placements times tasks that a whole search may take: a second, about. One placement
looks at all tasks."""


def modulo_schedule(problem: LoopProblem, interval: int | None = None) -> Schedule:
    """A schedule with the smallest interval that is found, or with the one given.

    Without an interval, all tasks start at multiples of the cycles that divide every
    latency and occupancy.

    Raises:
        Infeasible: no schedule exists, or none is found at the interval given; the
            message says which resource or recurrence stands in the way.
    """
    if interval is None and problem.grain > 1:
        return modulo_schedule(problem.coarser(problem.grain)).finer(problem)
    bounds = bounds_of(problem)
    search = _Search(problem, bounds.recurrences)
    if interval is None:
        return search.smallest(bounds.interval)
    if interval < bounds.interval:
        raise Infeasible(
            f"interval {interval} is below {bounds.interval}, which"
            f" {bounds.explain()} needs"
        )
    found = search.at(interval)
    if found is None:
        raise Infeasible(
            f"no schedule was found at interval {interval}, at which the busiest"
            f" resource is {bounds.busiest or 'none'}"
        )
    return found


class _Search:
    """Looks for schedules at one interval after the other."""

    def __init__(self, problem: LoopProblem, recurrences: int) -> None:
        self._problem = problem
        self._recurrences = recurrences
        size = max(problem.size, 1)
        self._attempts = max(2, min(ATTEMPTS, EFFORT // size))
        self._steps = WORK // size
        self._least = turns_interval(problem)

    @cached_property
    def _paths(self) -> LongestPaths:
        return longest_paths(self._problem, self._recurrences)

    def smallest(self, bound: int) -> Schedule:
        """The schedule with the smallest interval from ``bound`` on.

        Steps double until one is found that has the registers that it needs, then the
        gap before it is halved. Where even twice the interval that some schedule has
        does not help, the one with the fewest registers is found.
        """
        failed, step, tried = bound - 1, 1, bound
        found = least = self.at(tried)
        while found is None or not found.fits:
            if least is not None and tried >= 2 * least.interval:
                return least
            failed, tried, step = tried, tried + step, 2 * step
            found = self.at(tried)
            least = _lesser(least, found)
        while tried - failed > 1:
            middle = (failed + tried) // 2
            better = self.at(middle)
            if better is None or not better.fits:
                failed = middle
            else:
                found, tried = better, middle
        return found

    def at(self, interval: int) -> Schedule | None:
        """A schedule with this interval, if one is found."""
        if interval < self._least:
            return None
        ends = (False, True)
        rows = [one_pass(self._problem, interval, backward=end) for end in ends]
        found = [self._compact(interval, row) for row in rows if row is not None]
        attempts, placements = self._attempts, PLACEMENTS
        if any(each.fits for each in found):
            attempts, placements = 1, BESIDE
        placed = self._attempted(interval, attempts, placements * self._problem.size)
        if placed is not None:
            found.append(self._compact(interval, placed))
        return min(found, key=_registers, default=None)

    def _attempted(
        self, interval: int, attempts: int, placements: int
    ) -> list[int] | None:
        """The starts that the first attempt with success finds."""
        for number in range(attempts):
            if self._steps < self._problem.size:
                return None
            lengths = self._paths.at(interval)
            attempt = _Attempt(self._problem, interval, lengths, number)
            found = attempt.run(min(placements, self._steps))
            self._steps -= attempt.steps
            if found is not None:
                return found
        return None

    def _compact(self, interval: int, cycles: list[int]) -> Schedule:
        first = Schedule.of(self._problem, interval, cycles)
        shorter = shorten_lifetimes(self._problem, interval, list(first.cycles))
        return Schedule.of(self._problem, interval, shorter)


def _registers(schedule: Schedule) -> tuple[int, int]:
    return schedule.pressure(), schedule.depth


def _lesser(one: Schedule | None, other: Schedule | None) -> Schedule | None:
    """Of two schedules the one with fewer registers, if there is one."""
    return min((s for s in (one, other) if s), key=_registers, default=None)


@dataclass
class _Attempt:
    """One try at one interval."""

    problem: LoopProblem
    interval: int
    lengths: Array
    number: int
    cycles: Array = field(init=False)
    placed: NDArray[np.bool_] = field(init=False)
    last: Array = field(init=False)
    steps: int = 0

    def run(self, placements: int) -> list[int] | None:
        """The start of each task; ``None`` where it takes more than ``placements``."""
        size = self.problem.size
        self.cycles = np.zeros(size, np.int64)
        self.placed = np.zeros(size, np.bool_)
        self.last = np.full(size, NO_PATH, np.int64)
        self._table = ReservationTable(self.problem, self.interval)
        self._earliest = np.maximum(self.lengths.max(axis=0, initial=0), 0)
        tails = np.maximum(self.lengths.max(axis=1, initial=0), 0)
        horizon = int((self._earliest + tails).max(initial=0)) + self.interval
        self._latest = horizon - tails
        self._bias = self._noise(tails)
        self._forced = 0
        self._backward = np.ascontiguousarray(self.lengths.T)
        self._connected = self.lengths > NO_PATH // 2
        self._low = np.full(size, NO_PATH, np.int64)
        self._high = -self._low
        self._stale = False
        while self.steps < placements and not self.placed.all():
            self._place_next()
            self.steps += 1
        return self.cycles.tolist() if self.placed.all() else None

    def _noise(self, tails: Array) -> Array:
        if self.number == 0:
            return np.zeros_like(tails)
        if self.number == 1:
            return -4 * tails
        rng = np.random.default_rng(self.number)
        return rng.integers(0, self.interval + 2, len(tails))

    def _place_next(self) -> None:
        low, high = self._windows()
        room = np.where(self.placed, np.iinfo(np.int64).max, high - low + self._bias)
        task = int(np.argmin(room))
        first, last = int(low[task]), int(high[task])
        latest = self._pulled_by_users(task)
        cycle = self._table.free_cycle(task, first, last, latest=latest)
        if cycle is None:
            cycle = self._forced_cycle(task, first)
            self._make_room(task, cycle)
        self._table.place(task, cycle)
        self.cycles[task], self.placed[task], self.last[task] = cycle, True, cycle
        if not self._stale:
            self._narrow(task, cycle)

    def _windows(self) -> tuple[Array, Array]:
        """The first and last cycle of each task that placed tasks leave."""
        if self._stale:
            self._recount()
        low, high = np.maximum(self._low, self._earliest), self._high
        # Where placed tasks push one beyond the horizon, the horizon gives way.
        return low, np.where(self._latest < low, high, np.minimum(high, self._latest))

    def _recount(self) -> None:
        """The windows of the tasks that are not placed, from all that are."""
        todo = np.flatnonzero(~self.placed)
        # Others count as so far away that nothing comes of them.
        starts = np.where(self.placed, self.cycles, 4 * NO_PATH)
        begins = starts + self._backward[todo]
        self._low[todo] = begins.max(axis=1, initial=NO_PATH)
        ends = np.where(self.placed, self.cycles, -4 * NO_PATH) - self.lengths[todo]
        self._high[todo] = ends.min(axis=1, initial=-NO_PATH)
        self._stale = False

    def _narrow(self, task: int, cycle: int) -> None:
        """Windows after one more task is placed."""
        np.maximum(self._low, cycle + self.lengths[task], out=self._low)
        np.minimum(self._high, cycle - self._backward[task], out=self._high)

    def _pulled_by_users(self, task: int) -> bool:
        after = (self._connected[task] & self.placed).any()
        return bool(after and not (self._connected[:, task] & self.placed).any())

    def _forced_cycle(self, task: int, first: int) -> int:
        """Where the task goes although others have to move; later each time.

        Rather where a resource is free and users have to move than the other way
        round, but for every other time.
        """
        again = max(first, int(self.last[task]) + 1)
        self._forced += 1
        if self._forced % 2:
            free = self._table.free_cycle(task, again, again + self.interval - 1)
            if free is not None:
                return free
        return again

    def _make_room(self, task: int, cycle: int) -> None:
        """Take out what is in the way, and what would have to start later."""
        late = self.placed & (self.cycles < cycle + self.lengths[task])
        for other in np.flatnonzero(late).tolist():
            self._take_out(other)
        for rival in self._table.rivals(task, cycle):
            if self._table.fits(task, cycle):
                return
            self._take_out(rival)

    def _take_out(self, task: int) -> None:
        self._table.remove(task)
        self.placed[task], self._stale = False, True
