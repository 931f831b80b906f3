"""The modulo reservation table: who occupies what in each cycle of the interval.

Cycles of a resource are the bits of integers, one integer for each number of units:
those in which at least so many are taken. To place a task and to find where it can
start are then a few shifts and ands, however long the interval is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_passes_scheduling.problem import Array, LoopProblem, Task, Use

CANDIDATES = 8
"""Starts that are compared by what they waste, where each cuts a gap in two."""

SHORT = 128
"""Intervals up to which all starts are compared."""

TIGHT = 0.8
"""Share of a resource that tasks take from which on gaps are counted as waste."""


@dataclass(frozen=True, slots=True)
class _Segment:
    """A task holds units of a resource for consecutive cycles of the interval."""

    resource: int
    offset: int
    cycles: int
    units: int


class ReservationTable:
    """Occupied units by cycle modulo the interval and by resource.

    A task that lasts longer than the interval meets itself in the next iteration:
    its units count once for each lap.
    """

    def __init__(self, problem: LoopProblem, interval: int) -> None:
        self.interval = interval
        self._all = (1 << interval) - 1
        self._units: list[int] = problem.units.tolist()
        # At index n the cycles in which more than n units are taken.
        self._taken = [[0] * units for units in self._units]
        known: dict[tuple[Use, ...], tuple[_Segment, ...]] = {}
        self._segments = [
            known.get(task.uses)
            or known.setdefault(task.uses, _segments(task, interval))
            for task in problem.tasks
        ]
        self._cycles: dict[int, int] = {}
        # By resource, the cycles that each placed task holds.
        self._holders: list[dict[int, int]] = [{} for _ in self._units]
        self._since: dict[int, int] = {}
        self._placements = 0
        self._lengths = _lengths(problem)
        room = interval * problem.units
        self._tight = (problem.totals >= TIGHT * room).tolist()
        self._wasting = [
            [
                p
                for p in parts
                if self._tight[p.resource] and self._lengths[p.resource] > 1
            ]
            for parts in self._segments
        ]

    def fits(self, task: int, cycle: int) -> bool:
        """Whether the task can start in this cycle beside those that are placed."""
        return bool(self._starts(task) >> (cycle % self.interval) & 1)

    def free_cycle(
        self, task: int, first: int, last: int, *, latest: bool = False
    ) -> int | None:
        """A cycle of ``[first, last]`` in which the task can start.

        The first one, or with ``latest`` the last one, of those that waste least.
        Within one interval of that end: what is free there is free later too.
        """
        width = min(last - first + 1, self.interval)
        if latest:
            first = last - width + 1
        starts = self._rotated(self._starts(task), first) & ((1 << width) - 1)
        if not starts:
            return None
        flush = starts & self._rotated(self._flush(task), first)
        if flush and self.interval > SHORT:
            return first + next(_bits(flush, latest=latest))
        if not self._wasting[task]:
            return first + next(_bits(starts, latest=latest))
        limit = CANDIDATES if self.interval > SHORT else SHORT
        offsets = islice(_bits(starts, latest=latest), limit)
        return first + min(offsets, key=lambda o: self.waste(task, first + o))

    def nearest(self, task: int, at: int, low: int, high: int) -> list[int]:
        """The free cycles of ``[low, high]`` next to ``at``: up to one on each side."""
        starts = self._starts(task)
        found: list[int] = []
        width = min(high - at + 1, self.interval)
        above = self._rotated(starts, at) & ((1 << width) - 1)
        if above:
            found.append(at + next(_bits(above, latest=False)))
        width = min(at - low + 1, self.interval)
        below = self._rotated(starts, at - width + 1) & ((1 << width) - 1)
        if below:
            found.append(at - width + 1 + next(_bits(below, latest=True)))
        return found

    def place(self, task: int, cycle: int) -> None:
        """Start the task in this cycle."""
        self._cycles[task] = cycle
        self._placements += 1
        self._since[task] = self._placements
        for part in self._segments[task]:
            held, levels = self._held(part, cycle), self._taken[part.resource]
            holders = self._holders[part.resource]
            holders[task] = holders.get(task, 0) | held
            for _ in range(part.units):
                more = held
                for number, level in enumerate(levels):
                    levels[number], more = level | more, level & more
                    if not more:
                        break
                else:
                    levels.append(more)

    def remove(self, task: int) -> None:
        """Take a placed task out."""
        cycle = self._cycles.pop(task)
        del self._since[task]
        for part in self._segments[task]:
            held, levels = self._held(part, cycle), self._taken[part.resource]
            self._holders[part.resource].pop(task, None)
            for _ in range(part.units):
                less = held
                for number in range(len(levels) - 1, -1, -1):
                    levels[number], less = (
                        levels[number] & ~less,
                        less & ~levels[number],
                    )

    def rivals(self, task: int, cycle: int) -> list[int]:
        """Placed tasks that occupy units which the task would need; the last first."""
        found = {
            other
            for part in self._segments[task]
            if (wanted := self._held(part, cycle))
            for other, cells in self._holders[part.resource].items()
            if wanted & cells
        }
        return sorted(found, key=lambda other: -self._since[other])

    def waste(self, task: int, cycle: int) -> int:
        """Free cycles that nothing could use any more if the task stood here.

        Counted for busy resources that tasks hold for several cycles: a gap of five
        leaves one cycle over where every task takes four.
        """
        free = self._free_beside(task, cycle)
        return sum(
            run % self._lengths[resource]
            for resource, levels in free.items()
            for level in levels
            for run in _runs(level, self.interval)
        )

    def taken(self) -> Array:
        """Occupied units, ``[interval, resources]``."""
        found = np.zeros((self.interval, len(self._units)), np.int64)
        for resource, levels in enumerate(self._taken):
            for level in levels:
                for cycle in _bits(level, latest=False):
                    found[cycle, resource] += 1
        return found

    def _flush(self, task: int) -> int:
        """The starts that cut no gap in two, as bits: beside what is taken already."""
        found = self._all
        for part in self._wasting[task]:
            busy = self._all ^ self._free(part.resource, part.units)
            if busy:
                sides = self._rotated(busy, -1) | self._rotated(busy, part.cycles)
                found &= self._rotated(sides, part.offset)
        return found

    def _free_beside(self, task: int, cycle: int) -> dict[int, list[int]]:
        """The free cycles if the task stood here too, where gaps count as waste.

        By resource, and from one unit that is wanted on.
        """
        found: dict[int, list[int]] = {}
        for part in self._wasting[task]:
            levels = found.get(part.resource) or [
                self._free(part.resource, units)
                for units in range(1, self._units[part.resource] + 1)
            ]
            held = self._held(part, cycle)
            # Where the task holds units, that many more have to be free.
            others = levels[part.units :] + [0] * min(part.units, len(levels))
            rows = zip(levels, others, strict=True)
            found[part.resource] = [
                (level & ~held) | (other & held) for level, other in rows
            ]
        return found

    def _starts(self, task: int) -> int:
        """The cycles of the interval in which the task can start, as bits."""
        found = self._all
        for part in self._segments[task]:
            if part.units > self._units[part.resource]:
                return 0
            free = self._free(part.resource, part.units)
            found &= self._rotated(self._long(free, part.cycles), part.offset)
        return found

    def _long(self, free: int, cycles: int) -> int:
        """The cycles from which on ``cycles`` in a row are free."""
        done = 1
        while done < cycles and free:
            step = min(done, cycles - done)
            free &= self._rotated(free, step)
            done += step
        return free

    def _rotated(self, bits: int, by: int) -> int:
        """Bits such that bit ``i`` is what bit ``i + by`` was, around the interval."""
        by %= self.interval
        return (bits >> by | bits << (self.interval - by)) & self._all

    def _free(self, resource: int, units: int) -> int:
        """The cycles in which so many units are free, as bits."""
        left = self._units[resource] - units
        return self._all ^ (self._taken[resource][left] if units else 0)

    def _held(self, part: _Segment, cycle: int) -> int:
        """The cycles in which a task that starts there holds units, as bits."""
        return self._rotated((1 << part.cycles) - 1, -cycle - part.offset)


def _segments(task: Task, interval: int) -> tuple[_Segment, ...]:
    """The cells that a task occupies, in runs of equally many units."""
    cells: dict[tuple[int, int], int] = {}
    for use in task.uses:
        for offset in range(use.offset, use.offset + use.cycles):
            cell = use.resource, offset % interval
            cells[cell] = cells.get(cell, 0) + use.units
    found: list[_Segment] = []
    for (resource, offset), units in sorted(cells.items()):
        last = found[-1] if found else None
        if (
            last is not None
            and (last.resource, last.units) == (resource, units)
            and last.offset + last.cycles == offset
        ):
            found[-1] = _Segment(resource, last.offset, last.cycles + 1, units)
        else:
            found.append(_Segment(resource, offset, 1, units))
    return tuple(found)


def _lengths(problem: LoopProblem) -> list[int]:
    """For how many cycles tasks hold each resource: the shortest hold."""
    found = [0] * len(problem.resources)
    for task in problem.tasks:
        for use in task.uses:
            known = found[use.resource]
            found[use.resource] = min(known, use.cycles) if known else use.cycles
    return [max(1, length) for length in found]


def _bits(bits: int, *, latest: bool) -> Iterator[int]:
    """The numbers of the bits that are set, from one end."""
    while bits:
        place = bits.bit_length() - 1 if latest else (bits & -bits).bit_length() - 1
        yield place
        bits ^= 1 << place


def _runs(free: int, interval: int) -> Iterator[int]:
    """Lengths of the runs of free cycles, the last joined to the first."""
    full = (1 << interval) - 1
    if free == full:
        yield interval
        return
    # Rotate the interval so that it starts right after a busy cycle.
    busy = full ^ free
    first = (busy & -busy).bit_length()
    free = (free >> first | free << (interval - first)) & full
    while free:
        free >>= (free & -free).bit_length() - 1
        length = (~free & (free + 1)).bit_length() - 1
        yield length
        free >>= length
