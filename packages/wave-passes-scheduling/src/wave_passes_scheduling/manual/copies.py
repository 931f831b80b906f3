"""Copies of LDS buffers that the stages of a schedule need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.dependences.storage import (
    buffers_of,
    lds_bytes,
    static_bytes,
)
from wave_core.diagnostics import user_error
from wave_passes_scheduling.loops.copies import (
    check_copies,
    copies_that_fit,
    private_buffers,
)
from wave_passes_scheduling.rebuild.buffers import multiply_buffer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_core.ops.memory import Allocate
    from wave_core.passes import PassContext
    from wave_core.passes.manual import Step
    from wave_core.targets import Target
    from wave_passes_scheduling.manual.pipelines import Slot
    from wave_passes_scheduling.rebuild.buffers import MultipliedBuffer


def multiply_buffers(
    graph: Graph,
    loop: Iterate,
    private: Mapping[Allocate, list[SharedAccess]],
    slots: Mapping[Op, Slot],
    length: int,
    count: int | None,
    target: Target,
    step: Step,
) -> tuple[MultipliedBuffer, ...]:
    """Give each buffer that iterations fill anew as many copies as are in use at once.

    A buffer is in use from the first of its writes to the last of its reads; places
    are counted through all stages, and every ``length`` of them an iteration starts.

    Args:
        graph: That of the loop.
        loop: The loop.
        private: The buffers that its iterations fill anew.
        slots: Where its ops are listed.
        length: How many places a stage has.
        count: Copies that the author asks for; ``None`` for what is needed.
        target: The machine.
        step: The pipeline, for messages.

    Returns:
        What has copies now.

    Raises:
        UserError: WV0406 where LDS has no room for them.
    """
    if count is not None:
        check_copies(graph, loop, private, count, target)
        wanted = dict.fromkeys(private, count)
    else:
        wanted = {b: _needed(rows, slots, length) for b, rows in private.items()}
        _check_room(graph, wanted, target, step)
    return tuple(
        multiply_buffer(graph, loop, b, [row.op for row in private[b]], number)
        for b, number in wanted.items()
        if number > 1
    )


def separate_iterations(
    graph: Graph, loop: Iterate, factor: int, context: PassContext
) -> None:
    """Give ``factor`` iterations in a row buffers of their own, where LDS has room.

    Once the loop is unrolled, these iterations are free of each other's buffers.
    """
    found = private_buffers(graph, loop, context.dependences(graph))
    if found and copies_that_fit(graph, found, factor, context.target) == factor:
        for buffer, rows in found.items():
            multiply_buffer(graph, loop, buffer, [row.op for row in rows], factor)


def _needed(rows: Sequence[SharedAccess], slots: Mapping[Op, Slot], length: int) -> int:
    """Iterations whose data a buffer holds at once; 1 where that is not listed."""
    times = {
        row: slots[row.op].stage * length + slots[row.op].place
        for row in rows
        if row.op in slots
    }
    written = [time for row, time in times.items() if row.writes]
    read = [time for row, time in times.items() if not row.writes]
    if not written or not read:
        return 1
    return max(1, (max(read) - min(written)) // length + 1)


def _check_room(
    graph: Graph, wanted: Mapping[Allocate, int], target: Target, step: Step
) -> None:
    used = lds_bytes(buffers_of(graph), graph.bindings)
    sizes = {buffer: static_bytes(buffer, graph.bindings) for buffer in wanted}
    more = sum(size * (wanted[buffer] - 1) for buffer, size in sizes.items())
    room = target.memory.lds_bytes
    if more and used + more > room:
        fits = 1 + (room - used) // sum(sizes.values())
        raise user_error(
            "WV0406",
            f"the stages need {max(wanted.values())} copies of LDS buffers, which take"
            f" {used + more} bytes in all; target `{target.name}` has {room}",
            at=step.location,
            label="this pipeline",
            notes=f"one copy of each takes {used} bytes; {fits} of each fit",
            help="list the writes to LDS closer to the reads, or shrink the tiles",
        )
