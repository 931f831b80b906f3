"""Places the fewest barriers; see `PlaceMinimalBarriers`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.diagnostics import user_error
from wave_core.ir import insert_after, insert_before
from wave_core.ops.matrix import Mma, SharedTile
from wave_core.ops.shape import Assemble
from wave_core.ops.sync import (
    SharedMemoryBarrier,
    SharedMemoryBarrierSignal,
    SharedMemoryBarrierWait,
    WaveFence,
)
from wave_core.passes import Pass, option
from wave_core.targets import BarrierKind
from wave_passes_memory.barriers.cover import Column, cheapest_cover
from wave_passes_memory.barriers.hazards import Hazard, Order, PinnedCover, find_hazards
from wave_passes_memory.barriers.split import Halves, before_point, stretch
from wave_passes_memory.barriers.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_passes_memory.barriers.timeline import Point

_MATRIX_WORK = 16
"""How many other ops a matrix op counts for where waves can work between halves."""


@dataclass(frozen=True)
class PlaceMinimalBarriers(Pass):
    """Order all dependences through LDS with the fewest barriers.

    Two accesses depend on each other where different waves touch a byte and one of
    them writes it, in one iteration of the loops or in any two. Each dependence needs
    one of the points that every way from one access to the other passes. The pass takes
    the cheapest set of points, exactly: the fewest in the innermost loops, then the
    fewest further out. Barriers that stand already count and stay. Needs expanded
    tiles; does nothing where every dependence is taken care of.

    A copy on its way to LDS is waited for by one of the barriers that order it. Where
    the target splits barriers, the halves move apart as far as the dependences let
    them. Lanes of one wave need no barrier but a `wave_fence`, which costs nothing.

    Example::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `128`,
                workgroup_dim = 0)
            constraint #WaveConstraint(dim = M, tile_size = `64`)
            %a = argument parameter "a" : mem<M, global, f32>
            %t = allocate {shape = [M], distributed_shape = [`64`], dtype = !f32} :
                mem<M, shared, f32, physical[64]>
            %x = read %a, [] : reg<M, f32> @access(coordinates = [$LANE], registers = 1)
            write %x, %t, [] @access(coordinates = [$LANE], registers = 1)
        +   shared_memory_barrier
            %y = read %t, [] : reg<M, f32>
                @access(coordinates = [63 - $LANE], registers = 1)
            write %y, %a, [] @access(coordinates = [$LANE], registers = 1)
            yield []
          }

    Attributes:
        split: Whether barriers come in two halves where the target has them.

    Raises:
        UserError: WV0412 where a dependence has no point that all waves pass.
    """

    split: bool = option(True, "signal early and wait late, where the target can")

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Choose the points, then insert."""
        accesses = shared_accesses(graph)
        if not accesses:
            context.count("barriers", 0)
            return False
        dependences = context.dependences(graph)
        timeline = Timeline(graph, accesses, dependences)
        hazards = find_hazards(accesses, dependences, timeline)
        halves = self.split and context.target.barrier is BarrierKind.SPLIT
        plan = choose(hazards, timeline, halves=halves)
        context.count("barriers", len(plan.barriers))
        context.count("fences", len(plan.fences))
        context.count("dependences", len(hazards))
        _insert(plan, timeline)
        return bool(plan.barriers or plan.fences)


@dataclass(frozen=True)
class Plan:
    """Where to put what, by points.

    Attributes:
        barriers: Points of barriers.
        landed: Those that wait for copies on their way.
        halves: Those that come in two halves, and where these stand.
        fences: Points of fences.
    """

    barriers: tuple[int, ...]
    landed: frozenset[int]
    halves: dict[int, Halves]
    fences: tuple[int, ...]


def choose(hazards: Sequence[Hazard], timeline: Timeline, *, halves: bool) -> Plan:
    """The cheapest barriers that order all hazards which nothing orders yet."""
    pinned = PinnedCover(timeline)
    left = [h for h in hazards if not pinned.covers(h)]
    meetings = [h for h in left if h.order is not Order.FENCE]
    for hazard in meetings:
        if not hazard.points & timeline.legal:
            raise _unreachable(hazard)
    chosen = _meet(meetings, timeline, by_work=halves)
    bits = sum(1 << index for index in chosen)
    landed = _landed(meetings, timeline, bits)
    duties = _duties(meetings, chosen, landed)
    apart = stretch(timeline, chosen, duties) if halves else {}
    kept = {i: h for i, h in apart.items() if i not in landed and _worth(timeline, h)}
    fences = [h for h in left if h.order is Order.FENCE and not h.points & bits]
    everywhere = (1 << len(timeline.points)) - 1
    return Plan(
        tuple(chosen),
        landed,
        kept,
        tuple(_cover(fences, timeline, everywhere, by_work=False)),
    )


def _meet(hazards: Sequence[Hazard], timeline: Timeline, *, by_work: bool) -> list[int]:
    """The cheapest points for all hazards.

    Of equally cheap ones those that let copies land together: where a wave waits for
    one copy, the next is not on its way yet.
    """
    chosen = _cover(hazards, timeline, timeline.legal, by_work=by_work)
    copies = [h for h in hazards if h.order is Order.LANDED]
    if not copies:
        return chosen
    together = _cover(copies, timeline, timeline.legal, by_work=by_work)
    bits = sum(1 << index for index in together)
    rest = [h for h in hazards if not h.points & bits]
    both = sorted({*together, *_cover(rest, timeline, timeline.legal, by_work=by_work)})
    depths = [sorted(timeline.points[i].depth for i in each) for each in (both, chosen)]
    return both if depths[0] == depths[1] else chosen


def _cover(
    hazards: Sequence[Hazard], timeline: Timeline, allowed: int, *, by_work: bool
) -> list[int]:
    if not hazards:
        return []
    rows = [hazard.points & allowed for hazard in hazards]
    sinks = {timeline.at[hazard.sink.op] for hazard in hazards}
    wanted = 0
    for row in rows:
        wanted |= row
    costs = _costs(timeline, 2 * len(rows) + 2)
    columns = [
        Column(p.index, costs[p.index], _rank(p, sinks, timeline, by_work=by_work))
        for p in timeline.points
        if wanted >> p.index & 1
    ]
    return cheapest_cover(rows, columns)


def _costs(timeline: Timeline, base: int) -> list[int]:
    """Those of barriers: of one in a loop more than any number of them outside.

    Twice as much where no product is under way while waves wait, though some are at
    other points of the loop.
    """
    busy = {p.index for p in timeline.points if p.depth and _is_busy(p)}
    loops = {id(timeline.points[index].region) for index in busy}
    return [
        base**p.depth * (2 if id(p.region) in loops and p.index not in busy else 1)
        for p in timeline.points
    ]


def _is_busy(point: Point) -> bool:
    """Whether products go on at a point: it is behind one, and in front of a use."""
    before = list(takewhile(lambda op: op is not point.op, point.region.ops))
    work = [op for op in before if not isinstance(op, SharedTile | Assemble)]
    if not work or not _goes_on(work[-1]) or _parts(point):
        return False
    known = {*before, point.region.terminator}
    products = filter(_goes_on, work)
    return any(user not in known for each in products for user in each.users)


def _goes_on(op: Op) -> bool:
    """Whether an op is a product that reads LDS, and goes on after it is issued."""
    return isinstance(op, Mma) and bool(op.shared_tiles)


def _rank(
    point: Point, sinks: set[int], timeline: Timeline, *, by_work: bool
) -> tuple[int, ...]:
    """Of places that do the same: just before what has to wait, and late.

    Products that read LDS in place stay together where some add to the same
    accumulator: those of several accumulators take turns.
    """
    together, before = int(not _parts(point)), int(point.index in sinks)
    if by_work:
        work = len(_between(timeline, point.index))
        return (together, work, before, point.index)
    return (together, before, point.index)


def _parts(point: Point) -> bool:
    """Whether products behind a point add to some of its region before the point."""
    before: set[Op] = set()
    behind = False
    for op in point.region.ops:
        behind = behind or op is point.op
        if isinstance(op, Mma) and op.shared_tiles:
            if behind and op.acc in before:
                return True
            if not behind:
                before.add(op)
    return False


def _between(timeline: Timeline, index: int) -> list[Op]:
    """Ops that waves can run between halves at one point, matrix ops many times."""
    point, last = timeline.points[index], before_point(timeline, index)
    found: list[Op] = []
    counts = last is None
    for op in point.region.ops:
        if op is point.op:
            break
        if counts:
            found += [op] * (_MATRIX_WORK if isinstance(op, Mma) else 1)
        counts = counts or op is last
    return found


def _worth(timeline: Timeline, halves: Halves) -> bool:
    """Whether there is anything between the halves."""
    return halves.signal != halves.wait or bool(_between(timeline, halves.wait))


def _landed(meetings: list[Hazard], timeline: Timeline, chosen: int) -> frozenset[int]:
    """The fewest of the chosen barriers that see all copies landed."""
    copies = [h for h in meetings if h.order is Order.LANDED]
    return frozenset(_cover(copies, timeline, chosen, by_work=False))


def _duties(
    meetings: list[Hazard], chosen: list[int], landed: frozenset[int]
) -> dict[int, list[Hazard]]:
    """By barrier, the hazards that it alone answers for."""
    found: dict[int, list[Hazard]] = {index: [] for index in chosen}
    for hazard in meetings:
        able = landed if hazard.order is Order.LANDED else chosen
        found[next(i for i in sorted(able) if hazard.points >> i & 1)].append(hazard)
    return found


def _unreachable(hazard: Hazard) -> Exception:
    divergent = [op for op in hazard.sink.around if op in hazard.source.around]
    around = divergent[-1] if divergent else hazard.sink.op
    return user_error(
        "WV0412",
        "shared memory needs a barrier where not all waves may come along",
        at=hazard.sink.op.location,
        label="conflicts with an access before it",
        secondary=[
            (hazard.source.op.location, "the access before"),
            (around.location, "waves may differ in entering this"),
        ],
        help=("move one of the accesses out",),
    )


def _insert(plan: Plan, timeline: Timeline) -> None:
    """Insert what the plan says; waits come before signals of the same place."""
    for index in plan.barriers:
        halves = plan.halves.get(index)
        if halves is not None:
            _insert_halves(timeline, halves)
            continue
        drains = index in plan.landed
        insert_before(
            timeline.points[index].op, SharedMemoryBarrier(wait_async_ops=drains)
        )
    for index in plan.fences:
        insert_before(timeline.points[index].op, WaveFence())


def _insert_halves(timeline: Timeline, halves: Halves) -> None:
    wait = timeline.points[halves.wait].op
    insert_before(wait, SharedMemoryBarrierWait())
    signal = timeline.points[halves.signal]
    last = before_point(timeline, halves.signal)
    if last is None:
        insert_before(next(iter(signal.region.ops)), SharedMemoryBarrierSignal())
    else:
        insert_after(last, SharedMemoryBarrierSignal(), origin=signal.op)
