"""Exchanges through LDS in which every wave, lane and register has a place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.waves import wave_number
from wave_core.builtin.expand.meetings import check_together
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import ACCESS, PLACEMENT, Access, capture, insert_before, region_of
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.symbols import Expr, constant, symbol
from wave_core.types import AccessMapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph, Placement
    from wave_core.ops.base import Op

NAMES = (symbol("$WAVE"), symbol("$LANE_SLOT"), symbol("$REG_SLOT"))


class Slots:
    """A buffer of such places that holds a value, for an op that reads it."""

    def __init__(self, graph: Graph, geometry: Geometry, before: Op, value: Op) -> None:
        """Write ``value`` there, before an op."""
        self._graph, self._geometry, self._before = graph, geometry, before
        row = graph.facts.get(PLACEMENT, value)
        assert row is not None, "expansion places every value"
        self._row: Placement = row
        self._shape = value.register_type.shape
        self._mapping = AccessMapping(value.register_type.dims, NAMES)
        counts = geometry.waves_per_workgroup, geometry.lanes, row.layout.registers
        sizes = tuple(constant(count) for count in counts)
        allocate = Allocate(NAMES, sizes, value.register_type.dtype)
        allocate.location = before.location
        buffer = graph.body.prepend(allocate)
        self._memory = capture(region_of(before), buffer)
        write = Write(value, self._memory, (), self._mapping)
        self._insert(write, wave_number(geometry), LANE)

    def read(self, waves: Mapping[int, Expr], lane: Expr) -> Op:
        """What a lane holds of a wave that differs from the own one along axes.

        Raises:
            UserError: WV0412 where that wave may not come along, and has nothing.
        """
        if waves:
            check_together(self._graph, self._before)
        read = Read(self._memory, (), self._mapping, self._shape)
        self._insert(read, wave_number(self._geometry, waves), lane)
        self._graph.facts.put(PLACEMENT, read, self._row)
        return read

    def _insert(self, op: Op, wave: Expr, lane: Expr) -> None:
        op.tags |= self._before.tags
        insert_before(self._before, op)
        row = Access((wave, lane, REGISTER), self._row.layout.registers)
        self._graph.facts.put(ACCESS, op, row)
