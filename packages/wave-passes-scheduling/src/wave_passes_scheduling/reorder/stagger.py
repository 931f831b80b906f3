"""Halves of the waves a barrier apart: proved, then made so.

The high half of the waves passes one barrier more before a loop, the low half one more
after it. Every wave passes as many barriers as every other, so none waits for ever.

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

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.constraints.distribution import wave_symbol
from wave_core.ir import insert_after, insert_before, region_of, walk
from wave_core.ir.rewrite import end_region
from wave_core.ops.control import Conditional
from wave_core.ops.sync import MEETINGS, SharedMemoryBarrier
from wave_core.symbols import constant, ge, lt
from wave_passes_scheduling.loops.order import accesses_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_core.symbols import Expr


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
            if not source.races(sink):
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


TAG = "wave.stagger"
"""Marks a loop whose halves of the waves are to run a barrier apart."""


def stagger(graph: Graph, loop: Iterate, known: Dependences) -> None:
    """Let the high half of the waves run a loop one barrier behind the low half.

    The graph has its barriers already. What other waves wait for is proved to be far
    enough apart; waves meet before the loop, and are together again after it. Where
    they copy to LDS they also meet there: what follows the loop has a barrier that
    waits for the last copies, so that none of the loop has to.

    Raises:
        ReorderError: it cannot be proved, and nothing changed.
    """
    waves = wave_count(known)
    _check_together(graph, loop)
    _check_far_enough(graph, loop, known)
    accesses = shared_accesses(graph)
    copies = any(access.asynchronous for access in accesses)
    if not _met_before(loop, {access.op for access in accesses}):
        insert_before(loop, SharedMemoryBarrier(wait_async_ops=copies))
    _barrier_of_half(known, loop, waves // 2, high=True)
    together = _barrier_of_half(known, loop, waves // 2, high=False)
    if copies:
        insert_after(together, SharedMemoryBarrier(wait_async_ops=True))


def _met_before(loop: Iterate, accesses: set[Op]) -> bool:
    """Whether waves meet before a loop, and no LDS is used after that."""
    before = list(region_of(loop).ops)
    for op in reversed(before[: before.index(loop)]):
        if isinstance(op, SharedMemoryBarrier):
            return True
        if op.regions or op in accesses:
            return False
    return False


def wave_count(known: Dependences) -> int:
    """The waves of a workgroup.

    Raises:
        ReorderError: they do not come in two halves.
    """
    waves = known.geometry.waves_per_workgroup
    if waves % 2:
        raise ReorderError(f"{waves} waves of a workgroup are not two equal halves")
    return waves


def _check_together(graph: Graph, loop: Iterate) -> None:
    """All waves run the loop equally often, and pass all of its barriers."""
    uniformity = Uniformity(graph)
    for op in (loop, *region_of(loop).around):
        if not uniformity.together(op):
            raise ReorderError(f"not all waves enter the `{op.op_name}` alike")
    body = loop.body
    for op in walk(body):
        meets = isinstance(op, MEETINGS)
        if meets and op.owner is not body:
            raise ReorderError("a barrier stands inside another op of the loop")
        if meets and not isinstance(op, SharedMemoryBarrier):
            raise ReorderError(f"`{op.op_name}` waits for no access of LDS")


def _check_far_enough(graph: Graph, loop: Iterate, known: Dependences) -> None:
    ops = list(loop.body.ops)
    segments = segments_of(ops)
    count = segments[ops[-1]]
    if not count:
        raise ReorderError("the loop has no barrier")
    reaches = 1 + -(-NEEDED // count)

    def near(first: Op, second: Op, distance: int) -> bool:
        """Whether two accesses are too near each other if waves meet in them."""
        last = count in (segments[first], segments[second])
        if first.op_name == "gather_to_lds" or last:
            return True
        return segments[second] + distance * count - segments[first] < NEEDED

    landings = _landings(ops, segments)
    for row in meetings(graph, loop, ops, known, reaches, near):
        if count in (segments[row.before], segments[row.after]):
            raise ReorderError("LDS is used after the last barrier of the loop")
        start = segments[row.before]
        if row.asynchronous:
            start = _landed(landings, start, count)
        apart = segments[row.after] + row.distance * count - start
        if apart < NEEDED:
            raise ReorderError(_too_near(row, apart))


def segments_of(ops: Sequence[Op]) -> dict[Op, int]:
    """How many barriers stand before each op."""
    found: dict[Op, int] = {}
    passed = 0
    for op in ops:
        found[op] = passed
        passed += isinstance(op, SharedMemoryBarrier)
    return found


def _landings(ops: Sequence[Op], segments: dict[Op, int]) -> list[int]:
    """The segments that end with a wait for copies on their way."""
    return [
        segments[op]
        for op in ops
        if isinstance(op, SharedMemoryBarrier) and op.lands_all
    ]


def _landed(landings: list[int], start: int, count: int) -> int:
    """The segment at whose end a copy is there."""
    for place in (*landings, *(place + count for place in landings)):
        if place >= start:
            return place
    raise ReorderError("no barrier of the loop waits for copies to LDS")


def _too_near(row: Meeting, apart: int) -> str:
    return (
        f"`{row.after.op_name}` depends on `{row.before.op_name}` of other waves"
        f" ({row.text}) and comes {apart} barriers after it, not {NEEDED}"
    )


def _barrier_of_half(
    known: Dependences, loop: Iterate, half: int, *, high: bool
) -> Conditional:
    """A barrier before or after a loop that only one half of the waves passes."""
    wave, stride = constant(0), 1
    for axis, count in enumerate(known.geometry.waves):
        wave = wave + wave_symbol(axis) * stride
        stride *= count
    mine: Expr = ge(wave, half) if high else lt(wave, half)
    body = region_of(loop).graph.region()
    op = Conditional.build((None, (), ()), {"expr": mine}, (body,))
    op.location = loop.location
    if high:
        insert_before(loop, op)
    else:
        insert_after(loop, op)
    barrier = SharedMemoryBarrier()
    barrier.location = loop.location
    body.append(barrier)
    end_region(body, (), loop)
    return op
