"""Updates of memory in one step: each element of a tile acts once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.waves import wave_number
from wave_core.builtin.distribute.placements import ids_of, reach, starts
from wave_core.builtin.expand.access import (
    all_of,
    existing,
    is_never,
    once,
    put_access,
)
from wave_core.builtin.expand.values import rebuilt
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import ACCESS, Access
from wave_core.ops.atomic import Atomic
from wave_core.ops.constant import Splat
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.passes.tile_rules import expands
from wave_core.symbols import constant, symbol
from wave_core.types import AccessMapping, iterator_symbol

if TYPE_CHECKING:
    from wave_core.builtin.distribute.placements import Ids
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ir import Placement
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


@expands(Atomic)
def expand_atomic(expander: Expander, op: Atomic, scope: Scope) -> None:
    """One update for each piece; of replicated elements, one lane's."""
    copies = _Copies(expander, op, scope) if op.users else None
    for ids in ids_of(expander.placement(op)):
        placement = expander.piece_placement(op, ids, scope)
        exists = existing(expander, op, placement, scope)
        if is_never(exists):
            kind = op.register_type
            zeros = expander.emit(op, Splat(kind.shape, kind.dtype, 0), scope)
            expander.define(op, ids, zeros, scope)
            continue
        acting = once(expander, op, placement)
        new = _piece(expander, op, ids, scope)
        put_access(expander, op, new, placement, all_of(exists, *acting), scope)
        if acting and copies is not None:
            expander.place(op, ids, new, scope)
            new = copies.of(new, ids, placement, exists)
        expander.define(op, ids, new, scope)


def _piece(expander: Expander, op: Atomic, ids: Ids, scope: Scope) -> Op:
    value = expander.operand(op, ids, op.value, scope)
    indices = tuple(expander.operand(op, ids, v, scope) for v in op.indices)
    expected = op.expected
    if expected is not None:
        expected = expander.operand(op, ids, expected, scope)
    memory = expander.memory(op.memory, scope)
    return expander.emit(op, rebuilt(op, (value, memory, indices, expected)), scope)


class _Copies:
    """Old elements for the lanes and waves that hold them too, through LDS.

    Shapes: the buffer is ``[waves, *tile]``, each extent rounded up to whole steps;
    along an axis whose waves hold the same, wave 0 writes and all read.
    """

    def __init__(self, expander: Expander, op: Atomic, scope: Scope) -> None:
        self._expander, self._op, self._scope = expander, op, scope
        self._whole = expander.placement(op)
        self._dims = op.register_type.dims
        self._buffer: Op | None = None

    def of(self, piece: Op, ids: Ids, placement: Placement, exists: Expr | None) -> Op:
        """The elements of ``piece`` in all lanes; 0 where none exists."""
        expander, op, scope = self._expander, self._op, self._scope
        memory = expander.memory(self._memory(), scope)
        iterators = (iterator_symbol(i) for i in range(len(self._dims)))
        mapping = AccessMapping(self._dims, (symbol("$WAVE"), *iterators))
        write = expander.emit(op, Write(piece, memory, (), mapping), scope)
        mask = all_of(exists, *once(expander, op, placement))
        self._put(write, ids, mask)
        shape = op.register_type.shape
        read = expander.emit(op, Read(memory, (), mapping, shape), scope)
        self._put(read, ids, exists)
        return read

    def _memory(self) -> Op:
        if self._buffer is None:
            expander = self._expander
            waves = expander.geometry.waves_per_workgroup
            names = (symbol("$WAVE"), *(symbol(f"$LOCAL:{dim}") for dim in self._dims))
            extents = (waves, *(reach(self._whole, dim) for dim in self._dims))
            sizes = tuple(constant(extent) for extent in extents)
            buffer = Allocate(names, sizes, self._op.register_type.dtype)
            self._buffer = expander.hoist(self._op, buffer)
            expander.define_memory(self._buffer, self._buffer)
        return self._buffer

    def _put(self, access: Op, ids: Ids, mask: Expr | None) -> None:
        offsets = starts(self._whole, ids)
        layout = self._whole.layout
        local = [
            offsets.get(dim, 0) + layout.expr(dim, LANE, REGISTER) for dim in self._dims
        ]
        geometry = self._expander.geometry
        first = dict.fromkeys(geometry.idle_axes(self._dims), constant(0))
        wave = wave_number(geometry, first)
        row = Access((wave, *local), layout.registers, mask)
        self._expander.graph.facts.put(ACCESS, access, row)
