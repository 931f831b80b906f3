"""Direct copies that are boxes of both memories, which some machines copy at once."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from wave_core.symbols import constant, eq, ge
from wave_passes_memory.copies.share import flat_offset

if TYPE_CHECKING:
    from wave_core.types import BufferLayout
    from wave_passes_memory.dma.direct import DirectPlan, Transfer

UNIT_BYTES = 16
"""What starts and rows of a box are multiples of. Source: CUDA driver,
cuTensorMapEncodeTiled."""

MOST_DIMS = 5
"""Source: CUDA driver, cuTensorMapEncodeTiled."""


def as_boxes(
    plan: DirectPlan, order: BufferLayout | None
) -> tuple[list[DirectPlan], tuple[int, ...]]:
    """Plans with a box in each op, and the box; the plan itself where none is proved.

    Rows of the buffer are cut into panels of its ``order``, and a box is part of one.
    It brings whole patterns, and what of it lies outside of the memory is what the
    copy fills with zeros. There are as few boxes as the machine allows, all alike.
    """
    transfer = plan.transfer
    if order is None or not transfer.target.most_box:
        return [plan], ()
    width = order.panel // transfer.copy.buffer.dtype.bytes
    *outer, rows = (1, *transfer.box.extents[:-1])
    fits = (
        transfer.box.extents[-1] == transfer.storage[-1]
        and transfer.storage[-1] % width == 0
        and prod(outer) == 1
        and width <= transfer.target.most_box
    )
    if not (fits and transfer.box.fills and _is_plain(transfer)):
        return [plan], ()
    if not (_starts_pattern(transfer, order) and _ends_with_memory(transfer)):
        return [plan], ()
    parts = [replace(plan, transfer=part) for part in _panels(transfer, width)]
    found = [_largest(part, order, rows) for part in parts]
    made = [each for each in found if each is not None]
    if len(made) < len(parts):
        return [plan], ()
    return [part for part, _ in made], (*outer[1:], made[0][1], width)


def _panels(transfer: Transfer, width: int) -> list[Transfer]:
    """What a transfer brings to each panel of the buffer."""
    box = transfer.box
    *rows, first = box.shared
    return [
        replace(
            transfer,
            box=replace(
                box,
                extents=(*box.extents[:-1], width),
                shared=(*rows, first + start),
            ),
        )
        for start in range(0, transfer.storage[-1], width)
    ]


def _largest(
    plan: DirectPlan, order: BufferLayout, rows: int
) -> tuple[DirectPlan, int] | None:
    """The plan with the fewest boxes, and the rows of each: all, or equal parts."""
    width, most = plan.transfer.box.extents[-1], plan.transfer.target.most_box
    if rows <= most:
        return plan.with_runs(plan.count), rows
    for runs in range(plan.count, 0, -1):
        made = plan.with_runs(runs)
        each, rest = divmod(made.together, width)
        whole = each * order.panel % order.alignment == 0 and rows % max(each, 1) == 0
        if 0 < each <= most and not rest and whole:
            return made, each
    return None


def _is_plain(transfer: Transfer) -> bool:
    """Whether the memory has the dims of the buffer, and is read at its indices."""
    copy = transfer.copy
    dims = copy.memory.memory_type.dims
    return (
        copy.mapping is None
        and not any(read.indices for read, _ in copy.pairs)
        and dims == transfer.box.dims
        and 2 <= len(dims) <= MOST_DIMS
    )


def _starts_pattern(transfer: Transfer, order: BufferLayout) -> bool:
    """Whether boxes begin with a pattern of the buffer, and memory aligned to it."""
    facts, size = transfer.facts(), transfer.copy.buffer.dtype.bytes
    box, (*outer, rows, length) = transfer.box, transfer.storage
    panels = length * size // order.panel
    there = flat_offset(box.shared[:-1], tuple(map(constant, (*outer, rows))))
    first = box.shared[-1] + box.base[-1]
    return (
        facts.simplify(box.shared[-1]) is constant(0)
        and facts.divisor(there) * order.panel % order.alignment == 0
        and (panels == 1 or rows * order.panel % order.alignment == 0)
        and facts.divisor(first) * size % UNIT_BYTES == 0
        and facts.divisor(transfer.memory_shape[-1]) * size % UNIT_BYTES == 0
    )


def _ends_with_memory(transfer: Transfer) -> bool:
    """Whether elements do not exist just where the memory, which is not empty, ends."""
    facts = transfer.facts()
    rows = zip(transfer.box.limits, transfer.memory_shape, strict=True)
    return all(
        facts.prove(ge(extent, 1)) and (limit is None or facts.prove(eq(limit, extent)))
        for limit, extent in rows
    )
