"""Reads and writes of whole tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.analysis.limits import limiting
from wave_core.executors import advice
from wave_core.ir.graph import resolve
from wave_core.ops.memory import Allocate, GatherToLDS, Read, Write
from wave_core.symbols import Expr, as_expr
from wave_core.types import AccessMapping, MemoryType, dynamic_symbol, iterator_symbol
from wave_sim_cpu import codes
from wave_sim_cpu.launch import coordinates
from wave_sim_cpu.logical.state import Dims, State, aligned, spread
from wave_sim_cpu.options import Check

if TYPE_CHECKING:
    from wave_core.ops.atomic import Atomic
    from wave_core.ops.base import Op
    from wave_sim_cpu.arrays import Array, Bits
    from wave_sim_cpu.expressions import Number
    from wave_sim_cpu.memory import Buffer


def shape_of(op: Op) -> Dims:
    """The dims of a register value."""
    return tuple(op.register_type.shape)


def read(op: Read, state: State) -> None:
    """Gather a tile; elements that do not exist are 0."""
    dims = shape_of(op)
    access = _Access(op, op.memory, dims, state, (op.mapping, op.indices))
    state.values[op.ident] = _gather(access)


def write(op: Write, state: State) -> None:
    """Scatter a tile; elements that do not exist are left out."""
    dims = shape_of(op.value)
    access = _Access(op, op.memory, dims, state, (op.mapping, op.indices))
    _scatter(access, state.values[op.value.ident], dims, state)


def atomic(op: Atomic, state: State) -> None:
    """Update a tile, element after element; the value is what they were.

    Of waves that hold the same, one acts.
    """
    dims = shape_of(op)
    access = _Access(op, op.memory, dims, state, (op.mapping, op.indices))
    full = (state.units.count, *(state.tile(d) for d in dims))
    values = [op.value, *([] if op.expected is None else [op.expected])]
    data = [
        np.broadcast_to(aligned(state.values[v.ident], shape_of(v), dims), full)
        for v in values
    ]
    axes = state.launch.geometry.idle_axes(map(str, dims))
    leader = state.units.leaders(axes)
    acts = (leader == np.arange(leader.size)).reshape(-1, *(1,) * len(dims))
    mask = acts if access.mask is None else acts & access.mask
    old = access.buffer.update(access.cells, mask, op.combined, data)
    state.values[op.ident] = old[leader]


def gather_to_lds(op: GatherToLDS, state: State) -> None:
    """Read a tile and write it, at once."""
    dims = op.destination.memory_type.shape
    data = _gather(_Access(op, op.source, dims, state, (op.mapping, op.indices)))
    _scatter(_Access(op, op.destination, dims, state, (None, ())), data, dims, state)


def _gather(access: _Access) -> Array:
    return access.buffer.take(access.cells, access.mask)


def _scatter(access: _Access, data: Array, dims: Dims, state: State) -> None:
    full = (state.units.count, *(state.tile(d) for d in dims))
    access.buffer.put(access.cells, access.mask, np.broadcast_to(data, full))


class _Access:
    """The cells that an access touches, over the dims of the register.

    Attributes:
        cells: Their positions in the buffer.
        mask: Which of them are touched; ``None`` if all are.
    """

    def __init__(
        self,
        op: Op,
        memory: Op,
        dims: Dims,
        state: State,
        place: tuple[AccessMapping | None, tuple[Op, ...]],
    ) -> None:
        memory = resolve(memory)
        self._op = op
        self._mapping, self._indices = place
        self._state = state
        self._rank = 1 + len(dims)
        self.buffer: Buffer = state.buffers[memory.ident]
        held = _held(memory)
        self.mask = self._existing(dims, memory)
        values = self._values(dims, held)
        self._keep_existing(values)
        where = self._coordinates(memory.memory_type, values)
        self._keep_within(where)
        self.cells = self._positions(where)

    def _existing(self, dims: Dims, memory: Op) -> Bits | None:
        mask = self._state.active(dims)
        geometry = self._state.launch.geometry
        limits = limiting(map(str, dims), memory, self._mapping, geometry)
        for axis, dim in enumerate(dims):
            if str(dim) not in limits:
                continue
            bits = self._state.exists(dim, self._rank, 1 + axis)
            if bits is not None:
                mask = bits if mask is None else mask & bits
        return mask

    def _values(self, dims: Dims, held: dict[str, Expr]) -> dict[Expr, Number]:
        """The numbers of the mapping's symbols: iterators, or dims without one."""
        found: dict[Expr, Number] = {}
        names = [] if self._mapping is None else list(self._mapping.register_dims)
        for axis, dim in enumerate(dims):
            name = str(dim)
            known = iterator_symbol(names.index(name)) if names else dim
            found[known] = self._index(dim, 1 + axis, held.get(name))
        for position, value in enumerate(self._indices):
            data = aligned(self._state.values[value.ident], shape_of(value), dims)
            found[dynamic_symbol(position)] = data.astype(np.int64)
        return found

    def _keep_existing(self, values: dict[Expr, Number]) -> None:
        """Leave out elements that do not exist by the condition of the mapping."""
        if self._mapping is None or self._mapping.exists is None:
            return
        bits = np.asarray(self._state.over(self._mapping.exists, self._rank, values))
        self.mask = bits != 0 if self.mask is None else self.mask & (bits != 0)

    def _coordinates(
        self, memory: MemoryType, values: dict[Expr, Number]
    ) -> list[Array]:
        if self._mapping is None:
            return [np.asarray(values[dim]) for dim in memory.shape]
        return [
            np.asarray(self._state.over(c, self._rank, values))
            for c in self._mapping.coordinates
        ]

    def _index(self, dim: Expr, axis: int, held: Expr | None) -> Array:
        state = self._state
        if held is None:
            return state.index(dim, self._rank, axis)
        geometry = state.launch.geometry
        base = geometry.local_base(str(dim), state.loops, geometry.bind(held))
        extent = state.tile(dim)
        return state.along(state.uniform(base), extent, self._rank, axis)

    def _keep_within(self, place: list[Array]) -> None:
        """Report elements beyond the memory, and leave them out."""
        outside: Bits | None = None
        for index, extent in zip(place, self.buffer.shape, strict=True):
            if index.size and (index.min() < 0 or index.max() >= extent):
                bad = (index < 0) | (index >= extent)
                outside = bad if outside is None else outside | bad
        if outside is None:
            return
        stray = outside if self.mask is None else outside & self.mask
        if stray.any():
            self._report(place, stray)
        self.mask = ~outside if self.mask is None else self.mask & ~outside

    def _report(self, place: list[Array], stray: Bits) -> None:
        journal = self._state.journal
        if not journal.looks_for(Check.BOUNDS):
            return
        full = np.broadcast_shapes(stray.shape, *[p.shape for p in place])
        at = int(np.flatnonzero(np.broadcast_to(stray, full))[0])
        where = [int(np.broadcast_to(p, full).flat[at]) for p in place]
        unit = coordinates(at, full[::-1])[-1]
        journal.reporter.add(
            codes.OUT_OF_BOUNDS,
            f"`{self._op.op_name}` touches element {where} of {self.buffer.describe()}",
            self._op,
            label="out of bounds here",
            notes=(f"in {self._state.units.describe(unit)}",),
            help=advice.OUT_OF_BOUNDS,
            coordinates=where,
            unit=unit,
        )

    def _positions(self, place: list[Array]) -> Array:
        buffer = self.buffer
        total: Number = buffer.origin
        if buffer.is_lds:
            groups = self._state.units.local_workgroup * buffer.cells_per_workgroup
            total = total + spread(groups, self._rank)
        parts = [i * s for i, s in zip(place, buffer.strides, strict=True)]
        for part in sorted(parts, key=lambda p: p.size):
            total = total + part
        found = np.asarray(total)
        return found.reshape((1,) * (self._rank - found.ndim) + found.shape)


def _held(memory: Op) -> dict[str, Expr]:
    """Elements of an LDS buffer along each dim, padding left out.

    Nothing for a kernel argument.
    """
    if not isinstance(memory, Allocate):
        return {}
    extents = [as_expr(extent) for extent in memory.distributed_shape]
    return dict(zip(memory.memory_type.dims, extents, strict=True))
