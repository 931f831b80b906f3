"""Which cells an access touches: addresses, masks and bounds of all lanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_core.constraints.machine import REGISTER
from wave_core.executors import advice
from wave_core.symbols import Expr, Kind, conjuncts, total
from wave_sim_cpu import codes
from wave_sim_cpu.lanes.program import GROUP, Program, Storage
from wave_sim_cpu.launch import coordinates
from wave_sim_cpu.options import Check

if TYPE_CHECKING:
    from wave_core.ir.facts import Access
    from wave_core.ops.base import Op
    from wave_sim_cpu.arrays import Bits, Index
    from wave_sim_cpu.expressions import Environment, Number
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.memory import Buffer


class Condition:
    """One conjunct of a mask."""

    def __init__(self, expr: Expr, program: Program) -> None:
        self._compares = expr.kind is Kind.GE
        self._linear = program.linear(expr.args[0] if self._compares else expr)

    def bits(self, env: Environment, extra: Mapping[Expr, Number]) -> bool | Bits:
        """Where the condition holds; a plain truth value where it is the same."""
        if self._compares:
            low, high = self._linear.range(env, extra)
            if low >= 0:
                return True
            if high < 0:
                return False
        value = self._linear.array(env, extra)
        return value >= 0 if self._compares else value != 0


@dataclass(frozen=True, slots=True)
class Cells:
    """The elements that one access touches.

    Shapes: ``cells`` broadcasts to ``[units, lanes, registers]``; so does ``mask``,
    which is ``None`` where all elements are touched.
    """

    cells: Index
    mask: Bits | None


class AccessPlan:
    """The access of one op, prepared: one row of the ACCESS table."""

    def __init__(
        self, op: Op, access: Access, storage: Storage, program: Program
    ) -> None:
        self.op = op
        self.registers = access.registers
        self.storage = storage
        pairs = zip(access.coordinates, storage.strides, strict=True)
        offset = total([c * stride for c, stride in pairs]) + storage.origin
        self.offset = program.linear(offset)
        self.cells = (
            program.linear(offset + GROUP * storage.cells_per_workgroup)
            if storage.cells_per_workgroup
            else self.offset
        )
        self._coordinates = [program.linear(c) for c in access.coordinates]
        self._conditions = [Condition(c, program) for c in conjuncts(access.mask)]
        self._register = np.arange(access.registers).reshape(1, 1, -1)

    def own_symbols(self, indices: Mapping[Expr, Number]) -> Mapping[Expr, Number]:
        """The symbols of this access alone."""
        return {REGISTER: self._register, **indices}

    def touched(
        self, machine: Machine, buffer: Buffer, extra: Mapping[Expr, Number]
    ) -> Cells | None:
        """The cells; ``None`` if no lane touches any.

        Elements out of bounds are reported and left out.
        """
        mask = self._mask(machine, extra)
        if mask is not None and not mask.any():
            return None
        mask = self._within_bounds(machine, buffer, extra, mask)
        if mask is not None and not mask.any():
            return None
        cells = np.asarray(self.cells.array(machine.env, extra))
        if cells.ndim == 0:
            cells = cells.reshape(1, 1, 1)
        return Cells(cells, mask)

    def _mask(self, machine: Machine, extra: Mapping[Expr, Number]) -> Bits | None:
        mask = machine.active
        for condition in self._conditions:
            bits = condition.bits(machine.env, extra)
            if bits is True:
                continue
            if bits is False:
                return np.zeros((1, 1, 1), np.bool_)
            mask = bits if mask is None else mask & bits
        return mask

    def _within_bounds(
        self,
        machine: Machine,
        buffer: Buffer,
        extra: Mapping[Expr, Number],
        mask: Bits | None,
    ) -> Bits | None:
        outside: Bits | None = None
        for linear, extent in zip(self._coordinates, buffer.shape, strict=True):
            low, high = linear.range(machine.env, extra)
            if low >= 0 and high < extent:
                continue
            index = np.asarray(linear.array(machine.env, extra))
            bad = (index < 0) | (index >= extent)
            outside = bad if outside is None else outside | bad
        if outside is None or not outside.any():
            return mask
        outside = outside.reshape((1,) * (3 - outside.ndim) + outside.shape)
        stray = outside if mask is None else outside & mask
        if stray.any() and machine.journal.looks_for(Check.BOUNDS):
            self._report_stray(machine, buffer, extra, stray)
        return ~outside if mask is None else mask & ~outside

    def _report_stray(
        self,
        machine: Machine,
        buffer: Buffer,
        extra: Mapping[Expr, Number],
        stray: Bits,
    ) -> None:
        full = (*machine.shape, self.registers)
        at = int(np.flatnonzero(np.broadcast_to(stray, full))[0])
        register, lane, unit = coordinates(at, full[::-1])
        place = [
            int(
                np.broadcast_to(c.array(machine.env, extra), full)[unit, lane, register]
            )
            for c in self._coordinates
        ]
        machine.reporter.add(
            codes.OUT_OF_BOUNDS,
            f"`{self.op.op_name}` touches element {place} of {buffer.describe()}",
            self.op,
            label="out of bounds here",
            notes=(f"lane {lane} of {machine.units.describe(unit)}",),
            help=advice.OUT_OF_BOUNDS,
            coordinates=place,
            lane=lane,
            unit=unit,
            elements=int(np.count_nonzero(np.broadcast_to(stray, full))),
        )
