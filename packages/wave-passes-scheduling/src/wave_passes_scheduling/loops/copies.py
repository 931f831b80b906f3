"""Buffers that each iteration of a loop fills anew, and how many copies they get."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.analysis.dependences.storage import (
    buffers_of,
    lds_bytes,
    static_bytes,
)
from wave_core.diagnostics import user_error
from wave_core.ops.control import Iterate, While

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.ir import Graph
    from wave_core.ops.memory import Allocate
    from wave_core.targets import Target
    from wave_passes_scheduling.modulo.schedule import Schedule


def copies_that_fit(
    graph: Graph, buffers: Iterable[Allocate], wanted: int, target: Target
) -> int:
    """The most copies, up to ``wanted``, of ``buffers`` that LDS has room for."""
    used = lds_bytes(buffers_of(graph), graph.bindings)
    own = sum(static_bytes(buffer, graph.bindings) for buffer in buffers)
    spare = target.memory.lds_bytes - used
    return max(1, min(wanted, 1 + spare // own)) if own else wanted


def copies_to_live(schedule: Schedule, accesses: Collection[int]) -> int:
    """The fewest copies with which no iteration overwrites what an earlier one uses.

    Args:
        schedule: A schedule of the loop with one copy; its dependences on the next
            iteration may be broken.
        accesses: The tasks that touch buffers which can have copies.
    """
    waits = [
        row.latency + schedule.cycles[row.source] - schedule.cycles[row.target]
        for row in schedule.problem.dependences
        if row.distance and row.source in accesses and row.target in accesses
    ]
    return max([1, *(-(-wait // schedule.interval) for wait in waits)])


def check_copies(
    graph: Graph,
    loop: Iterate,
    buffers: Collection[Allocate],
    count: int,
    target: Target,
) -> None:
    """Refuse a number of copies, asked for by the user, that LDS has no room for.

    Buffers that are in use before and after the loop, or in it, need room of their
    own; all others may lie where the copies do.

    Raises:
        UserError: WV0406, with the bytes and with what fits.
    """
    own = sum(static_bytes(buffer, graph.bindings) for buffer in buffers)
    others = lds_bytes(_kept(graph, loop, buffers), graph.bindings)
    room = target.memory.lds_bytes
    if own * count + others <= room:
        return
    beside = f", and others beside them {others}" if others else ""
    most = (room - others) // own if own else 0
    raise user_error(
        "WV0406",
        f"{count} copies of the loop's LDS buffers take {own * count} bytes{beside};"
        f" target `{target.name}` has {room}",
        at=loop.location,
        label=f"its buffers take {own} bytes",
        help=f"`multi_buffer_count={most}` fits" if most > 0 else "use smaller tiles",
        needed=own * count + others,
        limit=room,
    )


def _kept(graph: Graph, loop: Iterate, buffers: Collection[Allocate]) -> list[Allocate]:
    """The other buffers that hold something while the loop runs."""
    rows = shared_accesses(graph)
    inside = [row.order for row in rows if loop in row.around]
    if not inside:
        return []
    first, last = min(inside), max(inside)
    orders: dict[Allocate, list[int]] = {}
    for row in rows:
        orders.setdefault(row.buffer, []).append(row.order)
    return [
        buffer
        for buffer, own in orders.items()
        if buffer not in buffers and min(own) < last and max(own) > first
    ]


def private_buffers(
    graph: Graph, loop: Iterate, known: Dependences
) -> dict[Allocate, list[SharedAccess]]:
    """The buffers whose bytes do not outlive an iteration, with their accesses.

    Every access stands in the loop's own body; all writes come first, surely happen
    and cover what is read, or are the same bytes in all iterations: what is read beside
    them nobody writes, as where a tile is larger than its memory. Such a buffer can be
    given to several iterations at once, a copy for each. One for which this cannot be
    proved is not listed, nor one whose place is given.
    """
    found: dict[Allocate, list[SharedAccess]] = {}
    for access in shared_accesses(graph):
        found.setdefault(access.buffer, []).append(access)
    return {
        buffer: rows
        for buffer, rows in found.items()
        if buffer.offset is None and _private(rows, loop, known)
    }


def _moves(access: SharedAccess, known: Dependences) -> bool:
    """Whether some loop around an access changes what it touches."""
    loops = (each for each in access.around if isinstance(each, Iterate | While))
    return any(known.moves(access, each) for each in loops)


def _private(rows: list[SharedAccess], loop: Iterate, known: Dependences) -> bool:
    if any(row.atomic or row.around[-1:] != (loop,) for row in rows):
        return False
    writes = [row for row in rows if row.writes]
    reads = [row for row in rows if not row.writes]
    if not writes or not reads or writes[-1].order > reads[0].order:
        return False
    prints = [known.footprint(row) for row in rows]
    if any(p.base is not prints[0].base for p in prints):
        return False
    if not all(known.footprint(row).exact for row in writes):
        return False
    if not any(_moves(row, known) for row in writes):
        return True
    start = min(p.low for p in prints)
    size = max(p.high for p in prints) - start
    written, read = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    for row in rows:
        touched = np.atleast_1d(known.footprint(row).finer(1).touched.any(axis=0))
        low = known.footprint(row).low - start
        target = written if row.writes else read
        target[low : low + len(touched)] |= touched
    return not bool((read & ~written).any())
