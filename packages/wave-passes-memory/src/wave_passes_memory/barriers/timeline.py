"""The points of a kernel where a barrier may stand, numbered in program order.

A point lies just before an op that matters: an access of LDS, an op with regions, a
barrier that is there already, the end of a region. All other places have the effect
of the next point after them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.ops.control import Iterate, While
from wave_core.ops.sync import (
    MEETINGS,
    MemoryCounterWait,
    SharedMemoryBarrierSignal,
    SharedMemoryBarrierWait,
    WaveFence,
)
from wave_core.ops.traits import Trait

if TYPE_CHECKING:
    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op

PINNED = (*MEETINGS, MemoryCounterWait, WaveFence)
"""Ops of the author or of the schedule that order accesses; they never move."""


@dataclass(frozen=True, eq=False, slots=True)
class Point:
    """The place just before ``op``.

    Attributes:
        index: Its number.
        op: The op that follows.
        region: Where it is.
        depth: How many loops are around it.
        together: Whether all waves of a workgroup come here together.
    """

    index: int
    op: Op
    region: Region
    depth: int
    together: bool


@dataclass(frozen=True, eq=False, slots=True)
class Span:
    """The points within an op that has regions.

    Attributes:
        op: The op.
        first, last: The first and the last point, both within.
        sure: Whether what passes the op surely passes its unconditional points.
    """

    op: Op
    first: int
    last: int
    sure: bool

    @property
    def bits(self) -> int:
        """Its points as a bit set."""
        return between(self.first, self.last)


def between(first: int, last: int) -> int:
    """The points from ``first`` to ``last`` as a bit set."""
    return ((1 << (last + 1)) - 1) & ~((1 << first) - 1) if last >= first else 0


class Timeline:
    """All points of a graph.

    Attributes:
        points: By number.
        spans: By op; outer ones come first.
        at: The number of the point before an op.
        end: By region, the number of the point before its terminator.
        legal: Points where a barrier may stand, as a bit set.
    """

    def __init__(
        self, graph: Graph, accesses: list[SharedAccess], dependences: Dependences
    ) -> None:
        self.points: list[Point] = []
        self.spans: dict[Op, Span] = {}
        self.at: dict[Op, int] = {}
        self.end: dict[Region, int] = {}
        self._dependences = dependences
        self._accesses = {access.op for access in accesses}
        self._uniformity = Uniformity(graph)
        self._enter(graph.body, 0, together=True)
        self.legal = self._legal()

    def _enter(self, region: Region, depth: int, *, together: bool) -> None:
        for op in region.ops:
            if not self._matters(op):
                continue
            index = len(self.points)
            self.points.append(Point(index, op, region, depth, together))
            self.at[op] = index
            if op.has(Trait.TERMINATOR):
                self.end[region] = index
            for nested in op.regions:
                inner = depth + isinstance(op, Iterate | While)
                here = together and self._uniformity.together(op)
                self._enter(nested, inner, together=here)
            if op.regions:
                last = len(self.points) - 1
                sure = isinstance(op, Iterate) and self._dependences.trips_surely(op)
                self.spans[op] = Span(op, index + 1, last, sure)

    def _matters(self, op: Op) -> bool:
        return bool(
            op.regions
            or op in self._accesses
            or op.has(Trait.TERMINATOR)
            or isinstance(op, PINNED)
        )

    def _legal(self) -> int:
        """Points that all waves pass together, outside of the author's halves."""
        found = 0
        for point in self.points:
            if point.together:
                found |= 1 << point.index
        for first, last in self.halves():
            found &= ~between(first + 1, last)
        return found

    def halves(self) -> list[tuple[int, int]]:
        """(signal, wait) of the author's split barriers, by their points.

        Where a loop waits for the signal of the iteration before, two pairs stand for
        it: from the start of the body to the wait, and from the signal to the end.
        """
        found: list[tuple[int, int]] = []
        for region, end in self.end.items():
            ops = [op for op in region.ops if op in self.at]
            start = self.at[ops[0]] - 1
            signal: int | None = None
            for op in ops:
                if isinstance(op, SharedMemoryBarrierSignal):
                    signal = self.at[op]
                elif isinstance(op, SharedMemoryBarrierWait):
                    found.append((start if signal is None else signal, self.at[op]))
                    signal = None
            if signal is not None:
                found.append((signal, end))
        return found

    # ---- ways from one access to another

    def way(self, source: SharedAccess, sink: SharedAccess) -> int:
        """Points that lie on every way from ``source`` to ``sink`` in one iteration."""
        bits = between(self.at[source.op] + 1, self.at[sink.op])
        return bits & ~self._skipped(source, sink, bits)

    def way_around(
        self, source: SharedAccess, sink: SharedAccess, loop: Op, *, far: bool = False
    ) -> int:
        """The same, ``sink`` in the next iteration of ``loop`` or a ``far`` one."""
        span = self.spans[loop]
        if far:
            return self._whole(source, sink, span)
        after = between(self.at[source.op] + 1, span.last)
        before = between(span.first, self.at[sink.op])
        after &= ~self._skipped(source, source, after, span)
        before &= ~self._skipped(sink, sink, before, span)
        return after | before

    def _whole(self, source: SharedAccess, sink: SharedAccess, span: Span) -> int:
        near = self.way_around(source, sink, span.op)
        return near | (span.bits & ~self._skipped(None, None, span.bits, span))

    def _skipped(
        self,
        source: SharedAccess | None,
        sink: SharedAccess | None,
        bits: int,
        inside: Span | None = None,
    ) -> int:
        """Points among ``bits`` in ops that a way may leave out."""
        found = 0
        for op, span in self.spans.items():
            if span.sure or not span.bits & bits:
                continue
            if inside is not None and not (inside.first <= self.at[op] <= inside.last):
                continue
            entered = (source is not None and op in source.around) or (
                sink is not None and op in sink.around
            )
            if not entered:
                found |= span.bits
        return found
