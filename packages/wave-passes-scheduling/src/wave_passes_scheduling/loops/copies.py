"""How many copies of its LDS buffers a loop gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.analysis.dependences.storage import lds_bytes, static_bytes
from wave_core.diagnostics import user_error
from wave_core.ops.memory import Allocate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from wave_core.ir import Graph
    from wave_core.ops.control import Iterate
    from wave_core.targets import Target
    from wave_passes_scheduling.modulo import Schedule


def copies_that_fit(
    graph: Graph, buffers: Iterable[Allocate], wanted: int, target: Target
) -> int:
    """The most copies, up to ``wanted``, of ``buffers`` that LDS has room for."""
    everything = [op for op in graph.walk() if isinstance(op, Allocate)]
    used = lds_bytes(everything, graph.bindings)
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
