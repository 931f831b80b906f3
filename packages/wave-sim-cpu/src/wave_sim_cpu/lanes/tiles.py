"""Operands of matrix products that stay in LDS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.diagnostics import internal_error
from wave_core.ir import BOX, PLACEMENT, resolve
from wave_core.ops.memory import Allocate
from wave_sim_cpu.copies import Flight
from wave_sim_cpu.epochs import PRODUCTS
from wave_sim_cpu.lanes.access import Accessor, gather, whole_waves
from wave_sim_cpu.lanes.program import GROUP
from wave_sim_cpu.options import Check

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.ops.matrix import SharedTile
    from wave_core.types import BufferLayout
    from wave_sim_cpu.arrays import Index
    from wave_sim_cpu.lanes.addressing import Cells
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.lanes.program import Program, Step
    from wave_sim_cpu.lanes.value import Value


def shared_tile(_op: SharedTile, _program: Program) -> Step:
    """The product that takes the tile reads it."""
    return lambda _machine: None


class Fetch:
    """Reads a tile for a product, when that is issued."""

    def __init__(self, tile: SharedTile, program: Program) -> None:
        self._tile = tile
        self._accessor = Accessor(tile, tile.memory, program, "tile")
        self._touched: Cells | None = None
        self._box = _Box(tile, program)

    def gather(self, machine: Machine) -> Value:
        """What the tile holds.

        Raises:
            InternalError: WV9903 where the box of the tile, in the order of its
                buffer, is not where its access row says.
        """
        touched = self._accessor.touch(machine)
        assert touched is not None, "a tile has no mask, and lanes run it"
        self._box.check(machine, touched)
        self._touched = touched
        return gather(self._tile, machine, self._accessor.buffer(machine), touched)

    def reads_on(self, op: Op, machine: Machine, number: int) -> None:
        """Product ``number`` goes on reading what was gathered last."""
        buffer = self._accessor.buffer(machine)
        if self._touched is None or buffer.copies is None:
            return
        if machine.journal.looks_for(Check.RACES):
            cells, who = whole_waves(machine, buffer, self._touched)
            who = np.broadcast_to(who, cells.shape).reshape(-1)
            flight = Flight(number, op, False, cells.reshape(-1), who, PRODUCTS)
            buffer.copies.issue(flight)


class _Box:
    """Where hardware finds the elements of a tile that it knows by its box."""

    def __init__(self, tile: SharedTile, program: Program) -> None:
        buffer = resolve(tile.memory)
        assert isinstance(buffer, Allocate), "tiles lie in buffers of LDS"
        self._tile = tile
        self._order = buffer.layout
        self._storage = program.storage[buffer.ident]
        self._size = buffer.dtype.bytes
        facts = program.graph.facts
        box, placement = facts.get(BOX, tile), facts.get(PLACEMENT, tile)
        self._known = box is not None and placement is not None
        if box is None or placement is None:
            return
        layout = placement.layout
        named = [dim.removeprefix("$LOCAL:") for dim in buffer.memory_type.dims]
        self._origin = [program.linear(place) for place in box.origin]
        *outer, height, inner = (
            layout.offsets(dim) if dim in layout.dims else np.zeros((1, 1), np.int64)
            for dim in named
        )
        height = height + inner // box.extents[-1] * box.apart
        self._within = [*outer, height, inner % box.extents[-1]]
        self._group = program.linear(GROUP * self._storage.cells_per_workgroup)

    def check(self, machine: Machine, touched: Cells) -> None:
        """The cells that were touched are those of the box."""
        if not self._known:
            return
        places: list[Index] = [
            np.asarray(origin.array(machine.env, {})) + within
            for origin, within in zip(self._origin, self._within, strict=True)
        ]
        if self._order is not None:
            places = _ordered(places, self._storage.shape, self._order, self._size)
        cells = self._group.array(machine.env, {}) + self._storage.origin
        for place, stride in zip(places, self._storage.strides, strict=True):
            cells = cells + place * stride
        if (touched.cells != cells).any():
            raise internal_error(
                "WV9903",
                "the box of a shared tile is not what its access row says",
                at=self._tile.location,
            )


def _ordered(
    places: list[Index], shape: tuple[int, ...], order: BufferLayout, size: int
) -> list[Index]:
    """Coordinates in storage of those in the buffer as its author sees it."""
    *outer, inner = places
    row: Index = np.zeros((1, 1, 1), np.int64)
    for place, extent in zip(outer, shape, strict=False):
        row = row * extent + place
    each = order.chunk // size
    chunk = (inner // each) ^ (row // order.step % order.ways)
    return [*outer, chunk * each + inner % each]
