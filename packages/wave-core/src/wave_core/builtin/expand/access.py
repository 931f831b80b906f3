"""Reads and writes: from placements to coordinates and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.matrix import dims_of
from wave_core.builtin.distribute.placements import free_lane_digits, ids_of
from wave_core.constraints import wave_symbol
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import ACCESS, Access, resolve
from wave_core.ops.constant import Splat
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.passes.tile_rules import expands
from wave_core.symbols import Expr, as_expr, constant, eq, logical_and
from wave_core.types import dynamic_symbol

if TYPE_CHECKING:
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ir import Placement
    from wave_core.ops.base import Op


@expands(Read)
def expand_read(expander: Expander, op: Read, scope: Scope) -> None:
    """One read for each piece of the result; zeros where no element exists."""
    memory = expander.memory(op.memory, scope)
    kind = op.register_type
    shape = kind.shape
    for ids in ids_of(expander.placement(op)):
        placement = expander.piece_placement(op, ids, scope)
        mask = expander.existence.mask(placement, dims_of(op), scope)
        if is_never(mask):
            zeros = Splat(shape, kind.dtype, 0)
            expander.define(op, ids, expander.emit(op, zeros, scope), scope)
            continue
        indices = tuple(expander.operand(op, ids, v, scope) for v in op.indices)
        read = Read(memory, indices, mapping=op.mapping, shape=shape, flags=op.flags)
        expander.emit(op, read, scope)
        expander.define(op, ids, read, scope)
        _put_access(expander, op, read, placement, mask, scope)


@expands(Write)
def expand_write(expander: Expander, op: Write, scope: Scope) -> None:
    """One write for each piece of the value; replicated elements are written once."""
    memory = expander.memory(op.memory, scope)
    for ids in ids_of(expander.placement(op.value)):
        placement = expander.piece_placement(op.value, ids, scope)
        conditions = [
            expander.existence.mask(placement, dims_of(op.value), scope),
            *_once(expander, op.value, placement),
        ]
        present = [c for c in conditions if c is not None]
        mask = logical_and(*present) if present else None
        if is_never(mask):
            continue
        value = expander.piece(op.value, ids, scope)
        indices = tuple(expander.operand(op.value, ids, v, scope) for v in op.indices)
        write = Write(value, memory, indices, mapping=op.mapping, flags=op.flags)
        expander.emit(op, write, scope)
        _put_access(expander, op, write, placement, mask, scope)


def is_never(mask: Expr | None) -> bool:
    """Whether a mask is false in every lane."""
    return mask is not None and mask.is_constant and not mask.constant_value


def _once(expander: Expander, value: Op, placement: Placement) -> list[Expr]:
    """Conditions that let one lane of one wave write each replicated element."""
    geometry = expander.geometry
    used = {geometry.split_among_waves(dim) for dim in dims_of(value)}
    other = [
        eq(wave_symbol(axis), constant(0))
        for axis, count in enumerate(geometry.waves)
        if count > 1 and axis not in used
    ]
    return [*first_copy(placement), *other]


def first_copy(placement: Placement) -> list[Expr]:
    """Conditions that choose one of the lanes that hold the same element."""
    return [
        eq((LANE // div) % mod, constant(0))
        for div, mod in free_lane_digits(placement.layout)
    ]


def _put_access(
    expander: Expander,
    op: Read | Write,
    new: Op,
    placement: Placement,
    mask: Expr | None,
    scope: Scope,
) -> None:
    coordinates = tuple(
        expander.existence.simplify(c, placement.layout, scope)
        for c in _coordinates(expander, op, placement, scope)
    )
    access = Access(coordinates, placement.layout.registers, mask)
    expander.graph.facts.put(ACCESS, new, access)


def _coordinates(
    expander: Expander, op: Read | Write, placement: Placement, scope: Scope
) -> tuple[Expr, ...]:
    memory = op.memory.memory_type
    held: dict[str, Expr] = {}
    buffer = resolve(op.memory)
    if isinstance(buffer, Allocate):
        # Without the padding, which holds no elements.
        held = dict(
            zip(memory.dims, map(as_expr, buffer.distributed_shape), strict=True)
        )
    index = {
        dim: _index(expander, placement, dim, held.get(dim), scope)
        for dim, _ in placement.origin
    }
    if op.mapping is None:
        return tuple(index[dim] for dim in memory.dims)
    dynamic = tuple(dynamic_symbol(i) for i in range(len(op.indices)))
    return tuple(expander.geometry.bind(c) for c in op.mapping.apply(index, dynamic))


def _index(
    expander: Expander,
    placement: Placement,
    dim: str,
    held: Expr | None,
    scope: Scope,
) -> Expr:
    """The index of each element along ``dim``; ``held`` by LDS, the local one."""
    start = placement.origin_of(dim)
    assert start is not None, "a piece has an origin in each of its dimensions"
    if held is not None:
        geometry = expander.geometry
        extent = geometry.bind(as_expr(held))
        local = geometry.local_base(dim, scope.loops, extent)
        start = start - scope.base(dim, geometry) + local
    return start + placement.layout.expr(dim, LANE, REGISTER)


@expands(Allocate)
def expand_allocate(expander: Expander, op: Allocate, scope: Scope) -> None:  # noqa: ARG001
    """A buffer stays one buffer, of static extents."""
    extents = tuple(expander.geometry.bind(as_expr(e)) for e in op.distributed_shape)
    new = Allocate(op.shape, extents, op.dtype, op.space, op.padding, op.offset)
    expander.define_memory(op, expander.hoist(op, new))
