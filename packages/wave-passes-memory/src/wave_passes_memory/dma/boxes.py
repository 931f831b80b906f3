"""Direct copies that are boxes of both memories, which some machines copy at once."""

from __future__ import annotations

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


def box_of(plan: DirectPlan, order: BufferLayout | None) -> tuple[int, ...]:
    """The box that each copy of a plan moves; empty where it is not proved to be one.

    Rows of the buffer are one panel of its ``order``, each copy brings whole patterns
    of it, and what of the box lies outside of the memory is what the copy fills with
    zeros.
    """
    transfer = plan.transfer
    if order is None or not transfer.target.most_box:
        return ()
    inner = transfer.storage[-1]
    elements = plan.width * transfer.threads
    *outer, rows = (1, *transfer.box.extents[:-1])
    each = elements // inner
    fits = (
        inner * transfer.copy.buffer.dtype.bytes == order.panel
        and transfer.box.extents[-1] == inner
        and elements % inner == 0
        and prod(outer) == 1
        and each > 0
        and rows % each == 0
        and max(each, inner) <= transfer.target.most_box
        and each * order.panel % order.alignment == 0
    )
    if not (fits and transfer.box.fills and _is_plain(transfer)):
        return ()
    if not (_starts_pattern(transfer, order) and _ends_with_memory(transfer)):
        return ()
    return (*outer[1:], each, inner)


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
    """Whether the box begins with a pattern of the buffer, and memory aligned to it."""
    facts, size = transfer.facts(), transfer.copy.buffer.dtype.bytes
    box = transfer.box
    there = flat_offset(box.shared, tuple(map(constant, transfer.storage)))
    first = box.shared[-1] + box.base[-1]
    return (
        facts.simplify(box.shared[-1]) is constant(0)
        and facts.divisor(there) * size % order.alignment == 0
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
