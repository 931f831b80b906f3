"""Signal early, wait late: barriers in two halves, between which waves go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ops.sync import MEETINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.ops.base import Op
    from wave_passes_memory.barriers.hazards import Hazard
    from wave_passes_memory.barriers.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Halves:
    """Where the halves of one barrier stand.

    The signal comes as early as its point allows, just after the op before; the wait
    as late as its point allows, just before the op after.
    """

    signal: int
    wait: int


def stretch(
    timeline: Timeline, chosen: Sequence[int], duties: Mapping[int, Sequence[Hazard]]
) -> dict[int, Halves]:
    """The widest halves of each chosen barrier that still order its hazards.

    ``duties`` has the hazards that rely on each one. Halves of two barriers never
    overlap, nor do they reach across barriers that were there already.
    """
    found: dict[int, Halves] = {}
    rows = _rows(timeline)
    taken = -1
    for index in sorted(chosen):
        row = rows[id(timeline.points[index].region)]
        reach = _Reach(timeline, set(chosen) - {index}, duties.get(index, ()), index)
        halves = reach.widest(row, taken)
        found[index] = halves
        taken = max(taken, halves.wait)
    return found


def _rows(timeline: Timeline) -> dict[int, list[int]]:
    """The points of each region, in order."""
    rows: dict[int, list[int]] = {}
    for point in timeline.points:
        rows.setdefault(id(point.region), []).append(point.index)
    return rows


class _Reach:
    """How far the halves of one barrier may go."""

    def __init__(
        self,
        timeline: Timeline,
        others: set[int],
        duties: Sequence[Hazard],
        own: int,
    ) -> None:
        self._timeline = timeline
        self._others = others
        self._duties = duties
        self._own = own

    def widest(self, row: list[int], taken: int) -> Halves:
        """Halves on the points of ``row``, the signal beyond ``taken``."""
        signal = wait = row.index(self._own)
        while (
            signal > 0
            and row[signal - 1] > taken
            and self._goes(row[signal - 1], row[signal - 1])
        ):
            signal -= 1
        while wait + 1 < len(row) and self._goes(row[wait + 1], row[wait]):
            wait += 1
        return Halves(row[signal], row[wait])

    def _goes(self, point: int, passed: int) -> bool:
        """Whether a half may stand at ``point``, beyond the op after ``passed``."""
        if point in self._others or self._meets(passed):
            return False
        return all(self._orders(hazard, point) for hazard in self._duties)

    def _orders(self, hazard: Hazard, point: int) -> bool:
        """Whether a half at ``point`` is on the same stretch of the way as before."""
        if not hazard.points >> point & 1:
            return False
        if hazard.carrier is None:
            return True
        source = self._timeline.at[hazard.source.op]
        if self._own > source:
            return point > source
        return point <= self._timeline.at[hazard.sink.op]

    def _meets(self, point: int) -> bool:
        """Whether the op after a point is a barrier, or has one within."""
        op = self._timeline.points[point].op
        if isinstance(op, MEETINGS):
            return True
        span = self._timeline.spans.get(op)
        if span is None:
            return False
        inside = range(span.first, span.last + 1)
        return any(
            i in self._others or isinstance(self._timeline.points[i].op, MEETINGS)
            for i in inside
        )


def before_point(timeline: Timeline, index: int) -> Op | None:
    """The op just before a point that mattered; ``None`` at a region's start."""
    point = timeline.points[index]
    found: Op | None = None
    for op in point.region.ops:
        if op is point.op:
            return found
        if op in timeline.at:
            found = op
    return found
