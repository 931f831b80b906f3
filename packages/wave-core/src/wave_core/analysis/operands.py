"""Operands of matrix products that stay in LDS, and the orders of their buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import resolve
from wave_core.ops.matrix import Mma, SharedTile
from wave_core.ops.memory import Allocate
from wave_core.targets import SHARED

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.targets import MatrixInstruction, Target
    from wave_core.types import BufferLayout


def takes_shared(target: Target) -> bool:
    """Whether any matrix instruction of a target reads LDS by itself."""
    return any(SHARED in (*r.lhs_in, *r.rhs_in) for r in target.matrix_instructions)


def row_of_product(op: Mma, target: Target) -> MatrixInstruction:
    """The instruction of an expanded product, which names it."""
    dtype = op.lhs.register_type.dtype
    return target.matrix_instruction(str(op.mma_type), op.location, dtype)


def tiles_by_buffer(graph: Graph) -> dict[Allocate, dict[SharedTile, Mma]]:
    """The operands that lie in each buffer, with a product that takes each."""
    found: dict[Allocate, dict[SharedTile, Mma]] = {}
    products = [op for op in graph.walk() if isinstance(op, Mma)]
    for op in products:
        for tile in op.shared_tiles:
            buffer = resolve(tile.memory)
            if isinstance(buffer, Allocate):
                found.setdefault(buffer, {}).setdefault(tile, op)
    return found


def order_of(buffer: Allocate, row: MatrixInstruction) -> BufferLayout | None:
    """The order in which an instruction takes tiles of a buffer: rows of one panel.

    ``None`` where it has none for rows of this length, or the buffer is not one whose
    order may change: padded, of unknown size, or where an author put it.
    """
    shape = buffer.memory_type.storage_shape
    padded = buffer.padding or buffer.tail_padding
    if len(shape) < 2 or padded or buffer.offset is not None or not buffer.guarded:
        return None
    if not all(extent.is_constant for extent in shape):
        return None
    length = shape[-1].constant_value * buffer.dtype.bytes
    return next((each for each in row.layouts if each.panel == length), None)
