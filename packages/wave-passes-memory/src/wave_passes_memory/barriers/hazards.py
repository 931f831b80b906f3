"""Hazards: pairs of accesses to be ordered, and those that are ordered already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby
from typing import TYPE_CHECKING

from wave_core.ops.control import Iterate, Loop, While
from wave_core.ops.sync import (
    MemoryCounterWait,
    SharedMemoryBarrier,
    SharedMemoryBarrierSignal,
    WaveFence,
    WorkgroupBarrier,
)
from wave_passes_memory.barriers.timeline import PINNED

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences, Reach
    from wave_passes_memory.barriers.timeline import Point, Timeline


class Order(Enum):
    """Ways to order two accesses."""

    FENCE = "fence"
    """They are of one wave: the code generator must not swap them."""
    BARRIER = "barrier"
    """They are of several waves: these must meet."""
    LANDED = "landed"
    """Waves must meet, and a copy on its way must have landed."""


@dataclass(frozen=True, eq=False, slots=True)
class Hazard:
    """An access that must not run before an earlier one is done.

    Attributes:
        source: The earlier access.
        sink: The later one.
        order: What it takes.
        points: Points that every way from one to the other passes, as a bit set.
        carrier: The loop of which the later one is in a later iteration.
        far: Whether that is an iteration further on than the next.
    """

    source: SharedAccess
    sink: SharedAccess
    order: Order
    points: int
    carrier: Loop | None = None
    far: bool = False

    def on(self, timeline: Timeline) -> Hazard:
        """The same hazard by the points of another timeline.

        Barriers that are added or erased change which points there are, and nothing
        of what depends on what.
        """
        return replace(self, points=_points(self, timeline))


def find_hazards(
    accesses: Sequence[SharedAccess], dependences: Dependences, timeline: Timeline
) -> list[Hazard]:
    """All hazards, those left out that another one implies."""
    found: list[Hazard] = []
    for family in dependences.families(accesses):
        found.extend(_Finder(family, dependences, timeline).run())
    return found


def find_landings(
    accesses: Sequence[SharedAccess], dependences: Dependences, timeline: Timeline
) -> list[Hazard]:
    """Those of `find_hazards` that take a copy to have landed.

    Only copies are looked at as sources: nothing else implies such a hazard.
    """
    found: list[Hazard] = []
    for family in dependences.families(accesses):
        finder = _Finder(family, dependences, timeline, of_copies=True)
        found.extend(h for h in finder.run() if h.order is Order.LANDED)
    return found


class Latest:
    """The accesses that were passed, the latest first, one of those that are alike.

    What comes after the latest of them is on every way from the others too, so that
    it orders them all.
    """

    def __init__(self, dependences: Dependences) -> None:
        self._dependences = dependences
        self._passed: dict[Hashable, SharedAccess] = {}

    def pass_by(self, accesses: Iterable[SharedAccess]) -> None:
        """Go past accesses, in program order."""
        for access in accesses:
            key = self._dependences.likeness(access)
            self._passed.pop(key, None)
            self._passed[key] = access

    def __iter__(self) -> Iterator[SharedAccess]:
        """The latest first."""
        return reversed(self._passed.values())


class _Finder:
    """Hazards among accesses of one piece of memory."""

    def __init__(
        self,
        accesses: Sequence[SharedAccess],
        dependences: Dependences,
        timeline: Timeline,
        *,
        of_copies: bool = False,
    ) -> None:
        self._accesses = accesses
        self._dependences = dependences
        self._timeline = timeline
        self._copies = any(access.asynchronous for access in accesses)
        self._of_copies = of_copies

    def run(self) -> Iterator[Hazard]:
        """Hazards within an iteration, then those between iterations of each loop."""
        if self._of_copies and not self._copies:
            return
        latest = Latest(self._dependences)
        for _, group in groupby(self._accesses, key=lambda access: access.op):
            sinks = list(group)
            for sink in sinks:
                yield from self._within(sink, latest)
            latest.pass_by(sinks)
        spans = self._timeline.spans
        for loop in [op for op in spans if isinstance(op, Iterate | While)]:
            trips = self._dependences.most_trips(loop)
            if trips is None or trips > 1:
                inside = [a for a in self._accesses if loop in a.around]
                yield from self._around(loop, inside, far=trips != 2)

    def _within(self, sink: SharedAccess, earlier: Latest) -> Iterator[Hazard]:
        """Hazards that earlier accesses of the same iteration are to ``sink``."""
        done: set[Order] = set()
        for source in earlier:
            order = self._order(source, sink, None, done)
            if order is None:
                continue
            points = self._timeline.way(source, sink)
            yield Hazard(source, sink, order, points)
            if self._always_between(source, sink):
                done.add(order)
                if self._settled(done):
                    return

    def _around(
        self, loop: Loop, inside: list[SharedAccess], *, far: bool
    ) -> Iterator[Hazard]:
        latest = Latest(self._dependences)
        latest.pass_by(inside)
        for sink in inside:
            done: set[Order] = set()
            for source in latest:
                order = self._order(source, sink, loop, done)
                if order is None:
                    continue
                points = self._timeline.way_around(source, sink, loop)
                yield Hazard(source, sink, order, points, loop)
                if self._always_inside(source, loop) and source.order >= sink.order:
                    done.add(order)
                if self._settled(done):
                    break
        if far:
            yield from self._far(loop, inside, latest)

    def _far(
        self, loop: Loop, inside: list[SharedAccess], latest: Latest
    ) -> Iterator[Hazard]:
        """Hazards that only iterations further apart have."""
        moving = {a for a in inside if self._dependences.moves(a, loop)}
        for sink in inside if moving else ():
            for source in latest:
                if source not in moving and sink not in moving:
                    continue
                order = self._order_beyond(source, sink, loop)
                if order is not None:
                    points = self._timeline.way_around(source, sink, loop, far=True)
                    yield Hazard(source, sink, order, points, loop, far=True)

    def _order(
        self,
        source: SharedAccess,
        sink: SharedAccess,
        loop: Loop | None,
        done: set[Order],
    ) -> Order | None:
        """The order that the pair needs, unless a later source implies it."""
        if not self._counts(source) or not source.races(sink):
            return None
        if Order.BARRIER in done and not source.asynchronous:
            return None
        reach = self._dependences.reach(source, sink, loop, 0 if loop is None else 1)
        order = _needed(source, sink, reach)
        return None if order in done else order

    def _order_beyond(
        self, source: SharedAccess, sink: SharedAccess, loop: Loop
    ) -> Order | None:
        """The order needed in iterations further apart, if more than in the next."""
        if not self._counts(source) or not source.races(sink):
            return None
        near = _needed(source, sink, self._dependences.reach(source, sink, loop, 1))
        far = self._dependences.reach_beyond(source, sink, loop)
        order = _needed(source, sink, far)
        return None if near in (order, Order.BARRIER, Order.LANDED) else order

    def _counts(self, source: SharedAccess) -> bool:
        """Whether hazards that an access is the source of are asked for."""
        return source.asynchronous or not self._of_copies

    def _settled(self, done: set[Order]) -> bool:
        """Whether no source further back can add anything."""
        if Order.LANDED in done:
            return True
        enough = Order.FENCE if self._dependences.single_wave else Order.BARRIER
        return enough in done and not self._copies

    def _always_between(self, source: SharedAccess, sink: SharedAccess) -> bool:
        """Whether ways from further back pass all points of this way."""
        return all(
            op in sink.around or self._timeline.spans[op].sure for op in source.around
        )

    def _always_inside(self, source: SharedAccess, loop: Loop) -> bool:
        inner = source.around[source.around.index(loop) + 1 :]
        return all(self._timeline.spans[op].sure for op in inner)


def _points(hazard: Hazard, timeline: Timeline) -> int:
    source, sink, loop = hazard.source, hazard.sink, hazard.carrier
    if loop is None:
        return timeline.way(source, sink)
    return timeline.way_around(source, sink, loop, far=hazard.far)


def _needed(source: SharedAccess, sink: SharedAccess, reach: Reach) -> Order | None:
    if not reach:
        return None
    if not source.buffer.guarded and source.buffer is sink.buffer:
        return Order.FENCE if reach.wave else None
    if source.asynchronous:
        return Order.LANDED
    if reach.group or sink.asynchronous:
        return Order.BARRIER
    return Order.FENCE if reach.wave else None


class PinnedCover:
    """The author's barriers, signals and waits, as cover."""

    def __init__(self, timeline: Timeline) -> None:
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
            landed = op.lands_all or self._waited(point, hazard, "load")
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
