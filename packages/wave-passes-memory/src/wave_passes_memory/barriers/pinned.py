"""Which hazards the barriers that are there already take care of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ops.sync import (
    MemoryCounterWait,
    SharedMemoryBarrier,
    SharedMemoryBarrierSignal,
    WaveFence,
    WorkgroupBarrier,
)
from wave_passes_memory.barriers.hazards import Order
from wave_passes_memory.barriers.timeline import PINNED

if TYPE_CHECKING:
    from wave_passes_memory.barriers.hazards import Hazard
    from wave_passes_memory.barriers.timeline import Point, Timeline


class PinnedCover:
    """The author's barriers, signals and waits, as cover."""

    def __init__(self, timeline: Timeline) -> None:
        """Look at all of ``timeline``."""
        self._timeline = timeline
        self._points = [p for p in timeline.points if isinstance(p.op, PINNED)]
        self._halves = timeline.halves()

    def covers(self, hazard: Hazard) -> bool:
        """Whether something on every way between the two orders them."""
        if any(self._orders(point, hazard) for point in self._points):
            return True
        return any(self._pair_orders(*pair, hazard) for pair in self._halves)

    def _orders(self, point: Point, hazard: Hazard) -> bool:
        if not hazard.points >> point.index & 1:
            return False
        op = point.op
        if isinstance(op, WaveFence):
            return hazard.order is Order.FENCE
        if isinstance(op, SharedMemoryBarrier):
            landed = op.wait_async_ops or self._waited(point, hazard, "load")
            return hazard.order is not Order.LANDED or landed
        if isinstance(op, WorkgroupBarrier):
            return self._meeting_orders(point, hazard)
        return False

    def _meeting_orders(self, point: Point, hazard: Hazard) -> bool:
        """Whether a bare barrier does: the accesses must have been waited for."""
        if hazard.order is Order.LANDED:
            return self._waited(point, hazard, "load")
        return self._waited(point, hazard, "ds")

    def _waited(self, point: Point, hazard: Hazard, counter: str) -> bool:
        """Whether all operations of a kind are waited for before ``point``."""
        return any(
            isinstance(other.op, MemoryCounterWait)
            and getattr(other.op, counter) == 0
            and self._follows(other, point, hazard)
            for other in self._points
        )

    def _pair_orders(self, signal: int, wait: int, hazard: Hazard) -> bool:
        if signal < 0:
            return False
        first, second = self._timeline.points[signal], self._timeline.points[wait]
        op = first.op
        if not isinstance(op, SharedMemoryBarrierSignal) or second.region is not (
            first.region
        ):
            return False
        if not self._follows(first, second, hazard):
            return False
        if hazard.order is Order.LANDED:
            return op.tensor_wait or self._waited(first, hazard, "load")
        return op.ds_wait or self._waited(first, hazard, "ds")

    def _follows(self, first: Point, second: Point, hazard: Hazard) -> bool:
        """Whether the way passes ``first``, then ``second``, in one stretch."""
        if first.region is not second.region or first.index > second.index:
            return False
        on_way = hazard.points >> first.index & hazard.points >> second.index & 1
        source = self._timeline.at[hazard.source.op]
        return bool(on_way) and (first.index > source or second.index <= source)
