"""Which copies a barrier waits for; see `CountCopyWaits`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.analysis.effects import written_memories
from wave_core.ir import (
    erase,
    insert_after,
    insert_before,
    region_of,
    resolve,
    set_attributes,
)
from wave_core.ops.control import Iterate, While
from wave_core.ops.memory import GatherToLDS
from wave_core.ops.sync import MOST_GROUPS, SharedMemoryBarrier
from wave_core.passes import Pass
from wave_passes_memory.barriers.hazards import find_landings
from wave_passes_memory.barriers.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.control import Loop
    from wave_core.passes import PassContext
    from wave_passes_memory.barriers.hazards import Hazard
    from wave_passes_memory.barriers.timeline import Point


@dataclass(frozen=True)
class CountCopyWaits(Pass):
    """Wait for each copy to LDS as late as what needs it allows.

    Needs all barriers. A copy is waited for at the last barrier on every way to what
    needs it, outside of loops if there is one. That barrier leaves the groups of copies
    that are issued later on their way: as many as barriers lie between the copy and
    that one, which is counted on the shortest way. Copies of one wave land in order, so
    that what is older than a copy has landed with it.

    Barriers are added beside a loop where that of the loop would otherwise wait, in
    each iteration, for what only its first one needs, or the code behind it. Where
    halves of the waves may be a barrier apart, none are added, and one more barrier
    follows before what needs the copy.

    Does nothing where something else than these barriers orders a copy, where a copy
    reads memory that the kernel writes, or lands in a buffer whose barriers are the
    author's.

    Example::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `128`,
                workgroup_dim = 0)
            constraint #WaveConstraint(dim = M, tile_size = `64`)
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
            %t = allocate {shape = [M], distributed_shape = [`128`], dtype = !f32} :
                mem<M, shared, f32, physical[128]>
            %u = allocate {shape = [M], distributed_shape = [`128`], dtype = !f32} :
                mem<M, shared, f32, physical[128]>
            gather_to_lds %a, %t, []
                @access(coordinates = [$LANE + 64*$WV0], registers = 1)
                @landing(coordinates = [$LANE + 64*$WV0], registers = 1)
            shared_memory_barrier
            gather_to_lds %a, %u, []
                @access(coordinates = [$LANE + 64*$WV0], registers = 1)
                @landing(coordinates = [$LANE + 64*$WV0], registers = 1)
        -   shared_memory_barrier {wait_async_ops = true}
        +   shared_memory_barrier {wait_async_ops = true, groups_left = 1}
            %x = read %t, [] : reg<M, f32>
                @access(coordinates = [127 - $LANE - 64*$WV0], registers = 1)
            write %x, %b, [] @access(coordinates = [$LANE + 64*$WV0], registers = 1)
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Settle what each barrier waits for, if all of it can be."""
        if not _may_change(graph):
            return False
        known = context.dependences(graph)
        needs = _Needs(graph, known)
        ways = needs.ways()
        waits = settle(ways.values())
        if waits is None:
            context.count("copies_not_counted")
            return False
        around = settle([way for each, way in ways.items() if each.carrier is not None])
        added = 0
        if _left_in_loops(around or {}) > _left_in_loops(waits):
            added = _separate_loops(graph, needs, _left_in_loops(waits))
            waits = settle(needs.ways().values())
            assert waits is not None, "barriers were only added"
        barriers = [op for op in graph.walk() if isinstance(op, SharedMemoryBarrier)]
        changed = [_set(op, waits.get(op)) for op in barriers]
        context.count("barriers_that_leave_copies", sum(map(bool, waits.values())))
        return added > 0 or any(changed)


class _Needs:
    """What copies are hazards to; found once, while barriers come and go."""

    def __init__(self, graph: Graph, known: Dependences) -> None:
        self._graph, self._known = graph, known
        self._accesses = shared_accesses(graph)
        self._hazards = find_landings(self._accesses, known, self._timeline())

    def ways(self) -> dict[Hazard, Way]:
        """The barriers on the way of each hazard, as the graph is now."""
        timeline = self._timeline()
        ways = Ways(timeline, self._known)
        return {each: ways.of(each.on(timeline)) for each in self._hazards}

    def left(self) -> int:
        """The groups that barriers of loops leave, as the graph is now."""
        return _left_in_loops(settle(self.ways().values()) or {})

    def _timeline(self) -> Timeline:
        return Timeline(self._graph, self._accesses, self._known)


def _left_in_loops(waits: Mapping[SharedMemoryBarrier, int]) -> int:
    """The groups that barriers of loops leave on their way, together."""
    return sum(left for op, left in waits.items() if any(region_of(op).around))


def _separate_loops(graph: Graph, needs: _Needs, left: int) -> int:
    """Put barriers beside loops where those within then leave more than ``left``.

    What reads behind a loop needs the copies of the last iterations, and the first
    iterations need those from before it. Without barriers beside the loop, its own has
    to wait for all of them, in every iteration.

    Returns:
        How many stay.
    """
    added = _beside_loops(graph)
    best = needs.left()
    kept = 0
    for op in added:
        following = _following(op)
        erase(op)
        if left < best > needs.left():
            insert_before(following, SharedMemoryBarrier())
            kept += 1
    return kept


def _following(op: Op) -> Op:
    ops = list(region_of(op).ops)
    return ops[ops.index(op) + 1]


def _beside_loops(graph: Graph) -> list[SharedMemoryBarrier]:
    """New barriers before and behind the loops that copy, if all waves come along."""
    uniformity = Uniformity(graph)
    barriers = [op for op in graph.walk() if isinstance(op, SharedMemoryBarrier)]
    copies = [op for op in graph.walk() if isinstance(op, GatherToLDS)]
    if not all(_together(op, uniformity) for op in barriers):
        return []
    found: list[SharedMemoryBarrier] = []
    for loop in dict.fromkeys(region_of(op).parent for op in copies):
        if isinstance(loop, Iterate) and _together(loop, uniformity):
            for insert in (insert_before, insert_after):
                found.append(SharedMemoryBarrier())
                insert(loop, found[-1])
    return found


def _together(op: Op, uniformity: Uniformity) -> bool:
    """Whether all waves of a workgroup come to ``op``, or none."""
    return all(map(uniformity.together, region_of(op).around))


def _may_change(graph: Graph) -> bool:
    """Whether barriers are all that says when copies have landed."""
    copies = [op for op in graph.walk() if isinstance(op, GatherToLDS)]
    written = written_memories(graph.body)
    return bool(copies) and not any(
        resolve(op.source) in written or not _guarded(op) for op in copies
    )


def _guarded(op: GatherToLDS) -> bool:
    return bool(getattr(resolve(op.destination), "guarded", False))


def _set(op: SharedMemoryBarrier, left: int | None) -> bool:
    """Let a barrier wait for all but ``left`` groups, or for none."""
    groups = min(left or 0, MOST_GROUPS)
    if (op.wait_async_ops, op.groups_left) == (left is not None, groups):
        return False
    set_attributes(op, wait_async_ops=left is not None, groups_left=groups)
    return True


@dataclass(frozen=True)
class Way:
    """The barriers from a copy to what needs it, in the order in which waves pass.

    Attributes:
        barriers: Those that are passed on every way, one of an inner loop once.
        able: How many of them, from the first, may wait for the copy.
    """

    barriers: tuple[SharedMemoryBarrier, ...]
    able: int

    @property
    def best(self) -> int:
        """Which waits: the last of those in the fewest loops, passed least often."""
        return min(range(self.able), key=lambda i: (_depth(self.barriers[i]), -i))

    def holds(self, waits: Mapping[SharedMemoryBarrier, int]) -> bool:
        """Whether a barrier that is able to waits for the copy already."""
        rows = enumerate(self.barriers[: self.able])
        return any(op in waits and waits[op] <= passed for passed, op in rows)


def _depth(op: SharedMemoryBarrier) -> int:
    """In how many loops a barrier is."""
    return sum(isinstance(around, Iterate | While) for around in region_of(op).around)


def settle(ways: Iterable[Way]) -> dict[SharedMemoryBarrier, int] | None:
    """The groups that each barrier leaves on their way; ``None`` where none is able.

    Copies that are waited for outside of loops come first, then those that few
    barriers can wait for; others are often waited for by then.
    """
    waits: dict[SharedMemoryBarrier, int] = {}
    rows = list(ways)
    if not all(way.able for way in rows):
        return None
    for way in sorted(rows, key=lambda way: (_depth(way.barriers[way.best]), way.able)):
        if not way.holds(waits):
            op = way.barriers[way.best]
            waits[op] = min(waits.get(op, way.best), way.best)
    return waits


_FAR = 8
"""Iterations up to which the nearest one that needs a copy is looked for."""


class Ways:
    """Which barriers of a graph lie on the way of a hazard."""

    def __init__(self, timeline: Timeline, known: Dependences) -> None:
        self._timeline = timeline
        self._known = known
        self._points: list[tuple[Point, SharedMemoryBarrier]] = [
            (point, point.op)
            for point in timeline.points
            if isinstance(point.op, SharedMemoryBarrier)
        ]
        self._apart = any(not point.together for point, _ in self._points)

    def of(self, hazard: Hazard) -> Way:
        """The barriers on the way of one hazard."""
        found = self._passed(hazard)
        able = len(found)
        if self._apart and found and found[-1][0].depth:
            # Another wave may be a barrier ahead: it has to be kept back once more.
            able -= 1
        return Way(tuple(op for _, op in found), able)

    def _passed(self, hazard: Hazard) -> list[tuple[Point, SharedMemoryBarrier]]:
        source, sink = self._timeline.at[hazard.source.op], self._sink(hazard)
        if hazard.carrier is None:
            return self._among(hazard.points)
        loop = hazard.carrier
        near = self._among(self._timeline.way_around(hazard.source, hazard.sink, loop))
        whole = [row for row in self._points if row[0].region is loop.regions[0]]
        between = self._distance(hazard.source, hazard.sink, loop) - 1
        return [
            *(row for row in near if row[0].index > source),
            *(row for _ in range(between) for row in whole if row[0].together),
            *(row for row in near if row[0].index <= sink),
        ]

    def _sink(self, hazard: Hazard) -> int:
        return self._timeline.at[hazard.sink.op]

    def _among(self, bits: int) -> list[tuple[Point, SharedMemoryBarrier]]:
        """The barriers at some points that all waves come to together."""
        return [
            (point, op)
            for point, op in self._points
            if bits >> point.index & 1 and point.together
        ]

    def _distance(self, source: SharedAccess, sink: SharedAccess, loop: Loop) -> int:
        """The nearest later iteration in which ``sink`` depends on ``source``."""
        if not any(self._known.moves(each, loop) for each in (source, sink)):
            return 1
        for distance in range(1, _FAR):
            if self._known.reach(source, sink, loop, distance):
                return distance
        return 1
