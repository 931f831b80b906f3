"""Moving a value between lanes through LDS, where registers cannot be renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.matrix import dims_of
from wave_core.analysis.waves import wave_number
from wave_core.builtin.distribute.placements import ids_of, reach, starts
from wave_core.builtin.expand.access import first_copy
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.diagnostics import user_error
from wave_core.ir import ACCESS, Access, region_of
from wave_core.ops.control import Conditional
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.symbols import constant, logical_and, lt, symbol
from wave_core.types import AccessMapping, iterator_symbol

if TYPE_CHECKING:
    from wave_core.builtin.distribute.placements import Ids
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ir import Placement
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


def exchange(expander: Expander, op: Op, scope: Scope) -> None:
    """Write the value in its layout to LDS and read it back in the layout of ``op``.

    Every wave has a part of the buffer of its own. Shapes: the buffer is
    ``[waves, *tile]`` with each extent rounded up to whole steps.

    Raises:
        UserError: WV0309 inside a conditional, where not all waves may come along.
    """
    value = op.operands[0]
    _check_uniform(op, value)
    have, want = expander.placement(value), expander.placement(op)
    dims = dims_of(value)
    extents = [max(reach(have, d), reach(want, d)) for d in dims]
    buffer = _buffer(expander, op, dims, extents)
    memory = capture_buffer(expander, buffer, scope)
    for ids in ids_of(have):
        piece = expander.piece(value, ids, scope)
        write = Write(piece, memory, (), _mapping(dims))
        expander.emit(op, write, scope)
        _put(expander, write, have, ids, dims, _all_of(first_copy(have)))
    shape = op.register_type.shape
    for ids in ids_of(want):
        read = Read(memory, (), _mapping(dims), shape)
        expander.emit(op, read, scope)
        mask = _written(_local(want, ids, dims), dims, have, want)
        _put(expander, read, want, ids, dims, mask)
        expander.define(op, ids, read, scope)


def capture_buffer(expander: Expander, buffer: Op, scope: Scope) -> Op:
    """The buffer as seen in the region of ``scope``."""
    expander.define_memory(buffer, buffer)
    return expander.memory(buffer, scope)


def _check_uniform(op: Op, value: Op) -> None:
    for parent in region_of(op).around:
        # A relation of symbols is the same for all lanes, so they come along together.
        if isinstance(parent, Conditional) and parent.condition is not None:
            raise user_error(
                "WV0309",
                "two uses want a value in different layouts where no barrier may stand",
                at=op.location,
                label="wants it in another layout, inside a conditional",
                secondary=[(value.location, "this fixes the layout of the value")],
                help=("move the use or the value out of the conditional",),
            )


def _buffer(
    expander: Expander, op: Op, dims: tuple[str, ...], extents: list[int]
) -> Op:
    """An allocation at the top of the kernel with a part for each wave."""
    waves = expander.geometry.waves_per_workgroup
    kind = op.register_type
    names = (symbol("$WAVE"), *(symbol(f"$LOCAL:{dim}") for dim in dims))
    sizes = (constant(waves), *(constant(extent) for extent in extents))
    allocate = Allocate(names, sizes, kind.dtype)
    return expander.hoist(op, allocate)


def _mapping(dims: tuple[str, ...]) -> AccessMapping:
    iterators = tuple(iterator_symbol(i) for i in range(len(dims)))
    return AccessMapping(dims, (symbol("$WAVE"), *iterators))


def _put(
    expander: Expander,
    access: Op,
    placement: Placement,
    ids: Ids,
    dims: tuple[str, ...],
    mask: Expr | None,
) -> None:
    local = _local(placement, ids, dims)
    coordinates = (wave_number(expander.geometry), *local)
    row = Access(coordinates, placement.layout.registers, mask)
    expander.graph.facts.put(ACCESS, access, row)


def _local(placement: Placement, ids: Ids, dims: tuple[str, ...]) -> tuple[Expr, ...]:
    """Where the elements of a piece sit in the tile."""
    offsets = starts(placement, ids)
    return tuple(
        offsets.get(dim, 0) + placement.layout.expr(dim, LANE, REGISTER) for dim in dims
    )


def _written(
    local: tuple[Expr, ...], dims: tuple[str, ...], have: Placement, want: Placement
) -> Expr | None:
    """Which elements the old layout reaches; the others read as 0.

    They do not exist, and contractions count on their being 0.
    """
    conditions = [
        lt(index, reach(have, dim))
        for index, dim in zip(local, dims, strict=True)
        if reach(want, dim) > reach(have, dim)
    ]
    return _all_of(conditions)


def _all_of(conditions: list[Expr]) -> Expr | None:
    return logical_and(*conditions) if conditions else None
