"""Operands of matrix products that stay in LDS, and the orders of their buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import BOX, PLACEMENT, region_of, resolve
from wave_core.ops.matrix import Mma, ScaledMma, SharedTile
from wave_core.ops.memory import Allocate
from wave_core.ops.shape import Assemble
from wave_core.targets import SHARED
from wave_core.types import dim_name

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Read
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


def unturned(value: Op) -> Op:
    """What an operand is, its dims in whatever order: behind captures and permutes."""
    found = resolve(value)
    while isinstance(found, Assemble) and len(found.sources) == 1:
        (source,) = found.sources
        if found.picks != tuple((0, place) for place in range(registers_of(source))):
            break
        found = resolve(source)
    return found


def registers_of(value: Op) -> int:
    """Elements that a lane has of an expanded value."""
    row = region_of(value).graph.facts.get(PLACEMENT, value)
    return 1 if row is None else row.layout.registers


def is_taken_across(read: Read, target: Target) -> bool:
    """Whether products read the memory of ``read`` as it is, M or N innermost.

    Of an expanded read of a buffer; what its condition says is not asked.
    """
    buffer = resolve(read.memory)
    if not isinstance(buffer, Allocate) or not read.users:
        return False
    users = [user for user in read.users if unturned(user) is not read]
    users += [each for user in read.users if user not in users for each in user.users]
    return all(_takes_across(user, read, buffer, target) for user in users)


def _takes_across(user: Op, read: Read, buffer: Allocate, target: Target) -> bool:
    if not isinstance(user, Mma) or isinstance(user, ScaledMma):
        return False
    row = row_of_product(user, target)
    sides = (
        (user.lhs, row.lhs_in, row.shape[0]),
        (user.rhs, row.rhs_in, row.shape[1]),
    )
    return is_across(buffer, user) and all(
        SHARED in places and order_of(buffer, row, width, across=True) is not None
        for value, places, width in sides
        if unturned(value) is read
    )


def is_across(memory: Op, op: Mma) -> bool:
    """Whether rows of a memory go along a dim of the result, and not along K."""
    inner, roles = dim_name(memory.memory_type.shape[-1]), op.contraction()
    return inner in (dim_name(roles.m), dim_name(roles.n))


def order_of_tile(tile: SharedTile, op: Mma, target: Target) -> BufferLayout:
    """The order in which a product takes a tile; the tile's buffer has it, or none."""
    buffer = resolve(tile.memory)
    assert isinstance(buffer, Allocate), "tiles lie in buffers of LDS"
    if buffer.layout is not None:
        return buffer.layout
    box = region_of(tile).graph.facts.known(BOX, tile)
    row, across = row_of_product(op, target), is_across(buffer, op)
    order = order_of(buffer, row, box.extents[-1], across=across)
    assert order is not None, "tiles are made of buffers that have one"
    return order


def order_of(
    buffer: Allocate, row: MatrixInstruction, width: int, *, across: bool
) -> BufferLayout | None:
    """The order in which an instruction takes tiles of a buffer: of the widest panel.

    Rows of the buffer are whole panels. A tile with ``width`` elements of each row lies
    within one of them, or has whole ones where its rows go ``across``. ``None`` where
    the instruction knows no such order, or the buffer is not one whose order may
    change: padded, of unknown size, or where an author put it.
    """
    if across and not row.columns_first:
        return None
    shape = buffer.memory_type.storage_shape
    padded = buffer.padding or buffer.tail_padding
    if len(shape) < 2 or padded or buffer.offset is not None or not buffer.guarded:
        return None
    if not all(extent.is_constant for extent in shape):
        return None
    length = shape[-1].constant_value * buffer.dtype.bytes
    width *= buffer.dtype.bytes
    fitting = [
        each
        for each in row.layouts
        if not length % each.panel
        and not (width % each.panel if across else each.panel % width)
    ]
    return max(fitting, key=lambda each: each.panel, default=None)
