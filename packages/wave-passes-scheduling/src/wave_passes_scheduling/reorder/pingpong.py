"""Ping-pong: one half of the waves moves data while the other one multiplies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import erase, region_of
from wave_core.ops.sync import (
    SchedulingBarrier,
    SchedulingGroupBarrier,
    SetWavePrio,
    SharedMemoryBarrier,
)
from wave_passes_scheduling.loops.analysis import registers_in_order
from wave_passes_scheduling.loops.costs import OpKind, kind_of
from wave_passes_scheduling.reorder.clusters import cluster
from wave_passes_scheduling.reorder.legal import apply_order, region_order
from wave_passes_scheduling.reorder.stagger import (
    TAG,
    ReorderError,
    meetings,
    wave_count,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_core.targets import RegisterFile
    from wave_passes_scheduling.reorder.clusters import Clusters
    from wave_passes_scheduling.reorder.legal import RegionOrder
    from wave_passes_scheduling.reorder.stagger import Meeting

TRIED = (1, 2, 4)
"""Pairs of clusters, best first, where none is asked for."""

RAISED = 1
"""The priority of waves in a matrix cluster."""


def ping_pong(
    graph: Graph,
    loop: Iterate,
    known: Dependences,
    pairs: int | None,
    file: RegisterFile | None,
) -> int:
    """Bring a loop's body into clusters of memory and of matrix work.

    Between clusters stand a barrier and scheduling barriers; matrix clusters run at
    raised priority. The loop is marked for `stagger`. Where nobody asks for a number
    of clusters, it is the first with which all values fit into registers.

    Returns:
        How many pairs of clusters there are.

    Raises:
        ReorderError: no order of that kind is legal, or the waves do not come in
            halves; nothing changed.
    """
    wave_count(known)
    hints = [op for op in loop.body.ops if isinstance(op, _HINTS)]
    order = region_order(graph, loop.body, known, without=hints)
    rows = list(meetings(graph, loop, order.ops, known, 1))
    room = None
    if file is not None and pairs is None:
        room = file.limit(known.geometry.groups_in_step)
    found = _first_that_fits(loop, order, rows, pairs, room)
    for op in hints:
        erase(op)
    framed = _framed(found.listed(order), _landings(order, found.count))
    apply_order(loop.body, [op for row in framed for op in row])
    loop.tags |= {TAG}
    return found.count


_HINTS = (SchedulingBarrier, SchedulingGroupBarrier)


def _first_that_fits(
    loop: Iterate,
    order: RegionOrder,
    rows: Sequence[Meeting],
    pairs: int | None,
    room: int | None,
) -> Clusters:
    reasons: list[str] = []
    for count in TRIED if pairs is None else (pairs,):
        try:
            found = cluster(loop, order, rows, count)
        except ReorderError as error:
            reasons.append(str(error))
            continue
        listed = [op for row in found.listed(order) for op in row]
        needed = registers_in_order(region_of(loop).graph, loop, listed)
        if room is None or needed <= room:
            return found
        reasons.append(f"{count} pairs of clusters need {needed} registers of {room}")
    raise ReorderError("; ".join(dict.fromkeys(reasons)))


def _landings(order: RegionOrder, pairs: int) -> set[int]:
    """The clusters at whose end copies on their way have landed.

    The last memory cluster, so that they have long; all, where LDS is read in the
    iteration of its copy.
    """
    copies = {op for op in order.ops if kind_of(op) is OpKind.GLOBAL_TO_SHARED}
    if not copies:
        return set()
    if any(e.reason == "memory" and e.before in copies for e in order.edges):
        return set(range(0, 2 * pairs, 2))
    return {2 * (pairs - 1)}


def _framed(clusters: Sequence[Sequence[Op]], landings: set[int]) -> Iterator[list[Op]]:
    """The clusters with what stands between them."""
    for number, ops in enumerate(clusters):
        barrier = SharedMemoryBarrier(wait_async_ops=number in landings)
        framed = list(ops)
        if number % 2:
            framed = [SetWavePrio(RAISED), *ops, SetWavePrio(0)]
        yield [*framed, SchedulingBarrier(), barrier, SchedulingBarrier()]
