"""Copies from global memory to LDS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.diagnostics import internal_error
from wave_sim_cpu.copies import Flight
from wave_sim_cpu.lanes.access import Accessor, spread_cells
from wave_sim_cpu.options import Check

if TYPE_CHECKING:
    from wave_core.ops.memory import GatherToLDS
    from wave_sim_cpu.arrays import Array, Bits, Index
    from wave_sim_cpu.lanes.addressing import Cells
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.lanes.program import Program, Step
    from wave_sim_cpu.memory import Buffer


def gather_to_lds(op: GatherToLDS, program: Program) -> Step:
    """Move the elements at once; whoever touches them too early is reported."""
    source = Accessor(op, op.source, program, "to_lds", op.indices)
    target = Accessor(op, op.destination, program, "landing")
    anywhere = program.target.direct_by_pointer

    def step(machine: Machine) -> None:
        read, landing = source.touch(machine), target.touch(machine)
        if landing is None:
            return
        if not anywhere:
            _check_side_by_side(op, machine, landing)
        memory, buffer = source.buffer(machine), target.buffer(machine)
        data, held = _fetched(machine, memory, read, target.plan.registers)
        buffer.put(landing.cells, landing.mask, data, held)
        if machine.journal.looks_for(Check.RACES):
            _take_off(op, machine, (memory, read), (buffer, landing))

    return step


def _fetched(
    machine: Machine, memory: Buffer, read: Cells | None, registers: int
) -> tuple[Array, Bits | None]:
    """The elements, 0 where none exists, and which of them hold a value."""
    full = (*machine.shape, registers)
    if read is None:
        return np.zeros(full, memory.cells.dtype), None
    held = memory.holds(read.cells, read.mask)
    data = np.broadcast_to(memory.take(read.cells, read.mask), full)
    return data, None if held is None else np.broadcast_to(held, full)


def _check_side_by_side(op: GatherToLDS, machine: Machine, landing: Cells) -> None:
    """The hardware adds the number of the lane to the place of the first one."""
    registers = landing.cells.shape[2]
    full = (*machine.shape, registers)
    within: Index = np.arange(full[1] * registers, dtype=np.int64)
    cells: Index = np.broadcast_to(landing.cells, full).reshape(full[0], -1)
    base = cells - within
    if landing.mask is not None:
        chosen = np.broadcast_to(landing.mask, full).reshape(base.shape)
        first = base[np.arange(full[0]), chosen.argmax(axis=1)][:, None]
        base = np.where(chosen, base, first)
    if (base != base[:, :1]).any():
        raise internal_error(
            "WV9903",
            "the lanes of a direct copy do not land side by side",
            at=op.location,
        )


def _take_off(
    op: GatherToLDS,
    machine: Machine,
    source: tuple[Buffer, Cells | None],
    target: tuple[Buffer, Cells],
) -> None:
    """Note what the copy reads, where the kernel writes that too, and writes."""
    number = machine.next_access()
    machine.epochs.copies.issue(machine.active_units(), number)
    memory, read = source
    if read is not None:
        _note(op, machine, number, memory, read, writes=False)
    _note(op, machine, number, *target, writes=True)


def _note(
    op: GatherToLDS,
    machine: Machine,
    number: int,
    buffer: Buffer,
    touched: Cells,
    *,
    writes: bool,
) -> None:
    cells, who = spread_cells(machine, buffer, touched)
    if buffer.copies is not None and cells.size:
        who = np.broadcast_to(who, cells.shape).reshape(-1)
        flight = Flight(number, op, writes, cells.reshape(-1), who)
        buffer.copies.issue(flight)
