"""Which accesses of LDS waves may run while others are half an iteration ahead.

Segments are the stretches of a loop's body between its barriers, numbered on over the
iterations. While the low half of the waves runs segment ``s``, the high half runs
``s - 1``: barriers are counted, and the high half has passed one more before the loop.
So what the high half does in segment ``s`` is ordered before what the low half does
from ``s + 2`` on. An access that other waves' accesses depend on has to be that far
from them; `NEEDED` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_passes_scheduling.loops.order import accesses_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate


class ReorderError(Exception):
    """No order of the wanted kind is legal; the message names what forbids it."""


NEEDED = 2
"""Segments from an access to one of another wave that depends on it."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """An access of one wave that one of another wave depends on.

    Attributes:
        before: The op of the loop's body that comes first.
        after: The one that depends on it.
        distance: How many iterations later.
        asynchronous: Whether the first one goes on before its data has landed.
    """

    before: Op
    after: Op
    distance: int
    asynchronous: bool = False

    @property
    def text(self) -> str:
        """The memory that they meet in, and how far apart."""
        far = f", {self.distance} iterations later" if self.distance > 1 else ""
        return f"LDS{', an iteration later' if self.distance == 1 else far}"


def meetings(
    graph: Graph,
    loop: Iterate,
    ops: Sequence[Op],
    known: Dependences,
    reaches: int,
    near: Callable[[Op, Op, int], bool] = lambda _first, _second, _distance: True,
) -> Iterator[Meeting]:
    """Pairs of accesses in a loop's body by which different waves meet.

    Args:
        graph: That of the loop.
        loop: The loop.
        ops: The ops of its body.
        known: Answers about the graph.
        reaches: The largest distance to look at.
        near: Whether two ops at a distance are to be looked at.
    """
    inside = accesses_in(graph, set(ops))
    for source, first in inside:
        for sink, second in inside:
            if not source.conflicts(sink):
                continue
            for distance in range(reaches + 1):
                if not near(first, second, distance):
                    continue
                if _meet(known, source, sink, loop, distance):
                    yield Meeting(first, second, distance, source.asynchronous)


def _meet(
    known: Dependences,
    source: SharedAccess,
    sink: SharedAccess,
    loop: Iterate,
    distance: int,
) -> bool:
    if not distance and source.order >= sink.order:
        return False
    carrier = loop if distance else None
    reach = known.reach(source, sink, carrier, distance)
    return reach.group or (source.asynchronous and bool(reach))
