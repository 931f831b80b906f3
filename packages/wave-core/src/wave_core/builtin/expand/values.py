"""Expansion of constants, and of ops on values but matrix ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.loops import static_tile
from wave_core.builtin.distribute.placements import flatten, ids_of, project, restrict
from wave_core.builtin.distribute.rules import spreads
from wave_core.builtin.expand.swaps import swap_lanes
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.diagnostics import internal_error, user_error
from wave_core.ops.base import Op
from wave_core.ops.constant import LaneExpr, Scalar, SelfIndex, Splat
from wave_core.ops.reduce import Reduce, identity_value
from wave_core.ops.shape import (
    Assemble,
    Bitcast,
    Broadcast,
    Permute,
    Relayout,
    Squeeze,
)
from wave_core.ops.traits import Trait
from wave_core.passes.tile_rules import expands

if TYPE_CHECKING:
    from wave_core.builtin.distribute.placements import Ids
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ir import Placement


def rebuilt(op: Op, slots: tuple[Op | tuple[Op, ...] | None, ...]) -> Op:
    """An op of the same class and attributes with other operands."""
    return type(op).build(slots, dict(op.attributes))


@expands(Scalar)
def expand_elementwise(expander: Expander, op: Op, scope: Scope) -> None:
    """One op for each piece of the result."""
    for ids in ids_of(expander.placement(op)):
        slots = tuple(_slot(expander, op, ids, slot, scope) for slot in op.slots)
        new = expander.emit(op, rebuilt(op, slots), scope)
        expander.define(op, ids, new, scope)


def _slot(
    expander: Expander,
    op: Op,
    ids: Ids,
    slot: Op | tuple[Op, ...] | None,
    scope: Scope,
) -> Op | tuple[Op, ...] | None:
    if isinstance(slot, tuple):
        return tuple(expander.operand(op, ids, v, scope) for v in slot)
    return None if slot is None else expander.operand(op, ids, slot, scope)


@expands(Splat)
def expand_splat(expander: Expander, op: Splat, scope: Scope) -> None:
    """All pieces of a splat are the same vector."""
    new = expander.emit(op, rebuilt(op, ()), scope)
    for ids in ids_of(expander.placement(op)):
        expander.define(op, ids, new, scope)


@expands(SelfIndex)
def expand_self_index(expander: Expander, op: SelfIndex, scope: Scope) -> None:
    """The index of each element follows from the placement."""
    kind = op.register_type
    dim = kind.dims[0]
    for ids in ids_of(expander.placement(op)):
        placement = expander.piece_placement(op, ids, scope)
        expr = placement.origin_of(dim)
        assert expr is not None, "a piece has an origin in each of its dimensions"
        expr = expr + placement.layout.expr(dim, LANE, REGISTER)
        expr = expander.existence.simplify(expr, placement.layout, scope)
        new = LaneExpr(expr, kind.shape, kind.dtype)
        expander.define(op, ids, expander.emit(op, new, scope), scope)


@expands(Permute, Broadcast)
def expand_alias(expander: Expander, op: Op, scope: Scope) -> None:
    """Another order of dimensions, more, or fewer: the operand's registers."""
    value = op.operands[0]
    whole = expander.placement(op)
    part = project(whole, value.register_type.dims)
    shape, layouts = op.register_type.shape, (part.layout, whole.layout)
    for ids in ids_of(whole):
        piece = expander.piece(value, restrict(ids, whole, part), scope)
        new = expander.spread(op, piece, shape, layouts, scope)
        expander.define(op, ids, new, scope)


@expands(Squeeze)
def expand_squeeze(expander: Expander, op: Squeeze, scope: Scope) -> None:
    """The operand's registers; what goes has one element."""
    dims = op.value.register_type.dims
    gone = [dim for dim in dims if dim not in op.register_type.dims]
    for dim, size in static_tile(op, gone, expander.geometry).items():
        if size != 1:
            message = f"`squeeze` of `{dim}`, of which a wave holds {size} elements"
            raise internal_error("WV9903", message)
    expand_alias(expander, op, scope)


@expands(Bitcast)
def expand_bitcast(expander: Expander, op: Bitcast, scope: Scope) -> None:
    """One op for each piece: the piece of the value that has the same bits."""
    value, whole = op.value, expander.placement(op)
    dims = dict(zip(value.register_type.dims, op.register_type.dims, strict=True))
    part = expander.placement(value)
    for ids in ids_of(whole):
        numbers = {s[0]: number for s, number in zip(whole.steps, ids, strict=True)}
        own = tuple(numbers[dims[step[0]]] for step in part.steps)
        piece = expander.piece(value, own, scope)
        new = expander.emit(op, Bitcast(piece, op.dtype), scope)
        expander.define(op, ids, new, scope)


@expands(Relayout)
def expand_relayout(expander: Expander, op: Relayout, scope: Scope) -> None:
    """Rename registers; the caller goes through LDS where lanes must exchange."""
    value = op.operands[0]
    have, want = expander.placement(value), expander.placement(op)
    picks = expander.picks(flatten(have), flatten(want))
    if picks is None:
        from wave_core.builtin.expand.exchange import exchange  # noqa: PLC0415

        if not (op.near and swap_lanes(expander, op, scope)):
            exchange(expander, op, scope)
        return
    sources = expander.pieces(value, scope)
    for number, ids in enumerate(ids_of(want)):
        chosen = picks[number * want.layout.registers :][: want.layout.registers]
        new = _picked(op, sources, have, chosen)
        expander.define(op, ids, expander.emit(op, new, scope), scope)


def _picked(
    op: Op, sources: list[Op], have: Placement, chosen: tuple[int, ...]
) -> Assemble:
    """A vector of registers that are numbered through all pieces of a value."""
    width = have.layout.registers
    used = sorted({register // width for register in chosen})
    position = {piece: i for i, piece in enumerate(used)}
    picks = tuple((position[r // width], r % width) for r in chosen)
    return Assemble(tuple(sources[p] for p in used), picks, op.register_type.shape)


@expands(Reduce)
def expand_reduce(expander: Expander, op: Reduce, scope: Scope) -> None:
    """One reduction for each piece of the result, over all pieces along the dim."""
    kind = op.register_type
    filler, dims = identity_value(op.kind, kind.dtype), (str(op.dim),)
    gathered: dict[tuple[int, ...], list[Op]] = {}
    for value in op.sources:
        whole = expander.placement(value)
        part = project(whole, kind.dims)
        for ids in ids_of(whole):
            piece = expander.masked_piece(op, value, ids, dims, filler, scope)
            gathered.setdefault(restrict(ids, whole, part), []).append(piece)
    for ids in ids_of(expander.placement(op)):
        init = None if op.init is None else expander.operand(op, ids, op.init, scope)
        new = Reduce(tuple(gathered[ids]), init, op.kind, op.dim, op.block)
        expander.define(op, ids, expander.emit(op, new, scope), scope)


@expands(Op)
def expand_by_trait(expander: Expander, op: Op, scope: Scope) -> None:
    """Values go piece by piece; what has no value (a barrier) stays one op.

    Raises:
        UserError: WV0601 for an op whose class says neither.
    """
    if op.type is not None and spreads(op):
        expand_elementwise(expander, op, scope)
    elif op.type is None and op.has(Trait.ORDERED) and not op.operands:
        expander.emit(op, rebuilt(op, ()), scope)
    else:
        raise user_error(
            "WV0601",
            f"nothing says how `{op.op_name}` is cut into pieces for the lanes",
            at=op.location,
            help=(
                "if it works within pieces, its class has Trait.FOLLOWS_OPERANDS",
                "else a pass lowers it before the phase `distribute`",
            ),
        )
