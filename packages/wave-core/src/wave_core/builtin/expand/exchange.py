"""Moving a value between lanes through LDS, where registers cannot be renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.waves import wave_number
from wave_core.builtin.distribute.placements import ids_of, reach, starts
from wave_core.builtin.expand.access import all_of, first_copy
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.diagnostics import user_error
from wave_core.ir import ACCESS, Access, region_of
from wave_core.ops.control import Conditional
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.shape import ExtractSlice
from wave_core.passes.tile_rules import expands
from wave_core.symbols import Expr, as_expr, constant, lt, symbol
from wave_core.types import AccessMapping, iterator_symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.builtin.distribute.placements import Ids
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ir import Placement
    from wave_core.ops.base import Op


Place = tuple[Expr, ...]
"""Where elements of a piece sit in the tile of the wave, dim by dim."""


@expands(ExtractSlice)
def expand_slice(expander: Expander, op: ExtractSlice, scope: Scope) -> None:
    """Through LDS: the elements may sit in any lane."""
    bind = expander.geometry.bind
    offsets, strides = (
        [bind(as_expr(n)) for n in row] for row in (op.offsets, op.strides)
    )

    def source(place: Place) -> Place:
        rows = zip(offsets, strides, place, strict=True)
        return tuple(offset + stride * index for offset, stride, index in rows)

    exchange(expander, op, scope, source)


def exchange(
    expander: Expander,
    op: Op,
    scope: Scope,
    source: Callable[[Place], Place] = lambda place: place,
) -> None:
    """Write the value in its layout to LDS and read it back in the layout of ``op``.

    Every wave has a part of the buffer of its own. ``source`` says which element of
    the value each of ``op`` is. Shapes: the buffer is ``[waves, *tile]`` with each
    extent rounded up to whole steps.

    Raises:
        UserError: WV0309 inside a conditional, where not all waves may come along, and
            for elements that share bytes.
    """
    value = op.operands[0]
    _check_uniform(op, value)
    _check_bytes(op, value)
    have, want = expander.placement(value), expander.placement(op)
    dims, wanted = value.register_type.dims, op.register_type.dims
    last = source(tuple(constant(reach(want, d) - 1) for d in wanted))
    extents = [reach(have, d) for d in dims]
    buffer = _buffer(expander, op, dims, extents)
    memory = capture_buffer(expander, buffer, scope)
    for ids in ids_of(have):
        piece = expander.piece(value, ids, scope)
        write = Write(piece, memory, (), _mapping(dims))
        expander.emit(op, write, scope)
        mask = all_of(*first_copy(have))
        _put(expander, write, have, _local(have, ids, dims), mask)
    shape = op.register_type.shape
    for ids in ids_of(want):
        read = Read(memory, (), _mapping(wanted), shape)
        expander.emit(op, read, scope)
        place = source(_local(want, ids, wanted))
        _put(expander, read, want, place, _written(place, last, extents))
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


def _check_bytes(op: Op, value: Op) -> None:
    dtype = value.register_type.dtype
    if dtype.is_packed:
        raise user_error(
            "WV0309",
            f"two uses want `{dtype}` in different layouts, and LDS moves whole bytes",
            at=op.location,
            label="wants it in another layout",
            secondary=[(value.location, "this fixes the layout of the value")],
            help=(
                "let elements that share bytes follow each other along K of a product",
                "or cast to 8 bits or more, and pass that through `allocate`d memory",
                "or use other tiles",
            ),
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
    place: Place,
    mask: Expr | None,
) -> None:
    coordinates = (wave_number(expander.geometry), *place)
    row = Access(coordinates, placement.layout.registers, mask)
    expander.graph.facts.put(ACCESS, access, row)


def _local(placement: Placement, ids: Ids, dims: tuple[str, ...]) -> Place:
    """Where the elements of a piece sit in the tile."""
    offsets = starts(placement, ids)
    return tuple(
        offsets.get(dim, 0) + placement.layout.expr(dim, LANE, REGISTER) for dim in dims
    )


def _written(place: Place, last: Place, extents: list[int]) -> Expr | None:
    """Which elements the old layout reaches; the others read as 0.

    They do not exist, and contractions count on their being 0.
    """
    conditions = [
        lt(index, extent)
        for index, end, extent in zip(place, last, extents, strict=True)
        if not (end.is_constant and end.constant_value < extent)
    ]
    return all_of(*conditions)
