"""Direct copies to LDS: what each lane reads, and where the wave's part lands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.backends.emission.accesses import (
    FlatArray,
    Piece,
    by_register,
    simple,
)
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import resolve
from wave_core.ops.memory import Allocate, GatherToLDS
from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.symbols import Expr, constant, eq, total

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission
    from wave_core.ir import Access, Graph


def with_indices(op: GatherToLDS, emit: Emission, row: Access) -> Access:
    """What a copy reads, by the values of its index registers.

    Each of them has one element a lane, whatever the lane copies.
    """
    if not op.indices:
        return row
    (known,) = by_register(op.indices, emit, 1)
    del known[REGISTER]
    return row.mapped(lambda expr: expr.subs(known))


def _offset(emit: Emission, memory: FlatArray, row: Access) -> Expr:
    rows = zip(row.coordinates, memory.strides, strict=True)
    return emit.expr(total([place * stride for place, stride in rows]))


def copied_piece(
    op: GatherToLDS, emit: Emission, memory: FlatArray, row: Access
) -> Piece:
    """The elements that a lane reads: neighbours that exist together."""
    row = with_indices(op, emit, row)
    offset = _offset(emit, memory, row)
    first = offset.subs({REGISTER: constant(0)})
    mask = None if row.mask is None else emit.expr(row.mask)
    alone = mask is None or REGISTER not in mask.free_symbols
    if not (alone and _equal(emit, offset, first + REGISTER, row.registers)):
        raise emit.unsupported(op, "the elements of a lane do not lie side by side")
    mask = None if mask is None else simple(emit.facts, mask)
    return Piece(0, row.registers, first, mask, memory.dtype.bytes)


def landing_base(
    op: GatherToLDS, emit: Emission, memory: FlatArray, row: Access
) -> Expr:
    """Where the first lane lands; the machine adds the number of the lane."""
    offset = _offset(emit, memory, row)
    base = offset.subs({LANE: constant(0), REGISTER: constant(0)})
    wanted = base + LANE * row.registers + REGISTER
    if not _equal(emit, offset, wanted, row.registers):
        raise emit.unsupported(op, "the lanes do not land side by side")
    return base


def _equal(emit: Emission, one: Expr, other: Expr, registers: int) -> bool:
    if one is other:
        return True
    return emit.facts.with_range(REGISTER, 0, registers - 1).prove(eq(one, other))


def copies_are_marked(graph: Graph) -> bool:
    """Whether barriers alone say when copies to LDS have landed.

    The compiler then places no waits of its own for them: barriers between accesses
    are proved. In buffers whose barriers are the author's it looks after each copy.
    """
    copies = [op for op in graph.walk() if isinstance(op, GatherToLDS)]
    buffers = [resolve(op.destination) for op in copies]
    return bool(copies) and all(
        isinstance(buffer, Allocate) and buffer.guarded for buffer in buffers
    )


def copies_are_left(graph: Graph) -> bool:
    """Whether some barrier leaves groups of copies on their way."""
    barriers = [op for op in graph.walk() if isinstance(op, SharedMemoryBarrier)]
    return any(op.groups_left for op in barriers)
