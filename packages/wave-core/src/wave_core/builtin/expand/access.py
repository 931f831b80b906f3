"""Reads and writes: from placements to coordinates and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.limits import limiting
from wave_core.builtin.distribute.placements import free_lane_digits, ids_of
from wave_core.constraints import wave_symbol
from wave_core.constraints.machine import LANE
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
    from wave_core.ops.atomic import Atomic
    from wave_core.ops.base import Op


@expands(Read)
def expand_read(expander: Expander, op: Read, scope: Scope) -> None:
    """One read for each piece of the result; zeros where no element exists."""
    memory = expander.memory(op.memory, scope)
    kind = op.register_type
    shape = kind.shape
    for ids in ids_of(expander.placement(op)):
        placement = expander.piece_placement(op, ids, scope)
        mask = existing(expander, op, placement, scope)
        if is_never(mask):
            zeros = Splat(shape, kind.dtype, 0)
            expander.define(op, ids, expander.emit(op, zeros, scope), scope)
            continue
        indices = tuple(expander.operand(op, ids, v, scope) for v in op.indices)
        read = Read(memory, indices, mapping=op.mapping, shape=shape, flags=op.flags)
        expander.emit(op, read, scope)
        expander.define(op, ids, read, scope)
        put_access(expander, op, read, placement, mask, scope)


@expands(Write)
def expand_write(expander: Expander, op: Write, scope: Scope) -> None:
    """One write for each piece of the value; replicated elements are written once."""
    memory = expander.memory(op.memory, scope)
    for ids in ids_of(expander.placement(op.value)):
        placement = expander.piece_placement(op.value, ids, scope)
        exists = existing(expander, op, placement, scope)
        mask = all_of(exists, *once(expander, op.value, placement))
        if is_never(mask):
            continue
        value = expander.piece(op.value, ids, scope)
        indices = tuple(expander.operand(op.value, ids, v, scope) for v in op.indices)
        write = Write(value, memory, indices, mapping=op.mapping, flags=op.flags)
        expander.emit(op, write, scope)
        put_access(expander, op, write, placement, mask, scope)


def existing(
    expander: Expander, op: Read | Write | Atomic, placement: Placement, scope: Scope
) -> Expr | None:
    """Where there are elements for an access: in the tile, and within its bounds."""
    own = tuple(dim for dim, _ in placement.origin)
    dims = limiting(own, op.memory, op.mapping, expander.geometry)
    inside = expander.existence.mask(placement, dims, scope)
    if op.mapping is None or op.mapping.exists is None:
        return inside
    condition = op.mapping.condition(*_place(expander, op, placement, scope))
    assert condition is not None, "the mapping has one"
    bound = expander.geometry.bind(condition)
    bound = expander.existence.simplify(bound, placement.layout, scope)
    is_always = bound.is_constant and bool(bound.constant_value)
    return inside if is_always else all_of(inside, bound)


def all_of(*conditions: Expr | None) -> Expr | None:
    """All conditions that there are."""
    present = [c for c in conditions if c is not None]
    return logical_and(*present) if present else None


def is_never(mask: Expr | None) -> bool:
    """Whether a mask is false in every lane."""
    return mask is not None and mask.is_constant and not mask.constant_value


def once(expander: Expander, value: Op, placement: Placement) -> list[Expr]:
    """Conditions that let one lane of one wave act for each replicated element."""
    axes = expander.geometry.idle_axes(value.register_type.dims)
    other = [eq(wave_symbol(axis), constant(0)) for axis in axes]
    return [*first_copy(placement), *other]


def first_copy(placement: Placement) -> list[Expr]:
    """Conditions that choose one of the lanes that hold the same element."""
    return [
        eq((LANE // div) % mod, constant(0))
        for div, mod in free_lane_digits(placement.layout)
    ]


def put_access(
    expander: Expander,
    op: Read | Write | Atomic,
    new: Op,
    placement: Placement,
    mask: Expr | None,
    scope: Scope,
) -> None:
    """Give ``new`` the coordinates of the elements that ``op`` touches there."""
    coordinates = tuple(
        expander.existence.simplify(c, placement.layout, scope)
        for c in _coordinates(expander, op, placement, scope)
    )
    access = Access(coordinates, placement.layout.registers, mask)
    expander.graph.facts.put(ACCESS, new, access)


def _coordinates(
    expander: Expander, op: Read | Write | Atomic, placement: Placement, scope: Scope
) -> tuple[Expr, ...]:
    index, dynamic = _place(expander, op, placement, scope)
    if op.mapping is None:
        return tuple(index[dim] for dim in op.memory.memory_type.dims)
    return tuple(expander.geometry.bind(c) for c in op.mapping.apply(index, dynamic))


def _place(
    expander: Expander, op: Read | Write | Atomic, placement: Placement, scope: Scope
) -> tuple[dict[str, Expr], tuple[Expr, ...]]:
    """The index of each element, by dimension, and what stands for index registers."""
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
    return index, tuple(dynamic_symbol(i) for i in range(len(op.indices)))


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
    return start + expander.existence.within(placement.layout, dim)


@expands(Allocate)
def expand_allocate(expander: Expander, op: Allocate, scope: Scope) -> None:  # noqa: ARG001
    """A buffer stays one buffer, of static extents."""
    extents = tuple(expander.geometry.bind(as_expr(e)) for e in op.distributed_shape)
    rest = op.offset, op.tail_padding, op.guarded
    new = Allocate(op.shape, extents, op.dtype, op.space, op.padding, *rest)
    expander.define_memory(op, expander.hoist(op, new))
