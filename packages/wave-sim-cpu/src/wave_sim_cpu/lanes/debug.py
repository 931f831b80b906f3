"""Breakpoints: registers put back together as the tensors that they are parts of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.ir.facts import PLACEMENT
from wave_sim_cpu.journal import Tensor, named_values

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.ops.control import Breakpoint
    from wave_sim_cpu.arrays import Array
    from wave_sim_cpu.expressions import Linear
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.lanes.program import Program, Step


class _Piece:
    """A register value and the logical index of each of its elements."""

    def __init__(self, op: Op, program: Program) -> None:
        self.op = op
        self.dims = op.register_type.dims
        placement = program.graph.facts.get(PLACEMENT, op)
        geometry = program.geometry
        self._extents = [program.linear(geometry.extent(dim)) for dim in self.dims]
        self._origins: list[Linear | None] = []
        self._offsets: list[Array] = []
        for dim in self.dims:
            origin = None if placement is None else placement.origin_of(dim)
            self._origins.append(None if origin is None else program.linear(origin))
            offset = np.zeros((1, 1), np.int64)
            if placement is not None and dim in placement.layout.dims:
                offset = placement.layout.offsets(dim)
            self._offsets.append(offset[None])

    def extents(self, machine: Machine) -> tuple[int, ...]:
        """The extent of each dimension."""
        found = [np.asarray(e.array(machine.env, {})) for e in self._extents]
        return tuple(int(extent.max()) for extent in found)

    def index(self, machine: Machine) -> list[Array]:
        """For each dimension the index of every element."""
        found: list[Array] = []
        for origin, offset in zip(self._origins, self._offsets, strict=True):
            base = 0 if origin is None else origin.array(machine.env, {})
            found.append(np.asarray(base + offset))
        return found


def breakpoint_op(op: Breakpoint, program: Program) -> Step:
    """Keep a snapshot, and show it to the handler of the options."""
    pieces: dict[str, list[_Piece]] = {}
    for label, value in named_values(op):
        pieces.setdefault(label, []).append(_Piece(value, program))

    def step(machine: Machine) -> None:
        tensors = {label: _tensor(found, machine) for label, found in pieces.items()}
        loops = {str(s): iteration for s, iteration in machine.loops.items()}
        machine.journal.stop(op, tensors, loops, machine.units)

    return step


def _tensor(pieces: list[_Piece], machine: Machine) -> Tensor:
    """All pieces of one label in one tensor, and which elements it has."""
    first = pieces[0]
    dtype = machine.value(first.op).data.dtype
    tensor = Tensor(first.dims, first.extents(machine), dtype)
    everywhere = np.ones((1, 1, 1), np.bool_)
    held = everywhere if machine.active is None else machine.active
    for piece in pieces:
        index, data = piece.index(machine), machine.value(piece.op).data
        shape = np.broadcast_shapes(data.shape, *[i.shape for i in index])
        full = (machine.units.count, *shape[1:])
        tensor.enter(index, np.broadcast_to(data, full), held)
    return tensor
