"""Elements that one write instruction touches more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.diagnostics import Severity
from wave_sim_cpu import codes
from wave_sim_cpu.launch import coordinates

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_sim_cpu.arrays import Array, Bits, Index
    from wave_sim_cpu.lanes.addressing import Cells
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.memory import Buffer


def check_collisions(
    op: Op, machine: Machine, buffer: Buffer, data: Array, touched: Cells
) -> None:
    """Report elements that one write gives several values, or several times one.

    Two waves that write one element race, whatever they write, and so do lanes that do
    not run in step. Two lanes that do write it in no particular order: an error if the
    values differ, else a warning.

    Shapes: ``data`` is ``[units, lanes, registers]``.
    """
    if touched.mask is None and machine.distinct.get(op.ident) is touched.cells:
        return
    full = (*machine.shape, touched.cells.shape[2])
    cells = np.broadcast_to(touched.cells, full)
    if touched.mask is not None:
        chosen = np.broadcast_to(touched.mask, full)
        cells, data = cells[chosen], data[chosen]
    cells = cells.reshape(-1)
    winner = machine.last_writer(buffer, cells)
    losers = np.flatnonzero(winner != np.arange(cells.size))
    if not losers.size:
        machine.distinct[op.ident] = touched.cells
        return
    winners = winner[losers]
    slots = _slots(full, touched.mask)
    who = slots // (full[1] // machine.width * full[2])
    between = who[losers] != who[winners]
    if between.any():
        pair = _pair(losers, winners, between)
        _report_race(op, machine, buffer, int(cells[pair[0]]), who[pair])
    raw = _bits(data)
    differ = ~between & (raw[losers] != raw[winners])
    equal = ~between & (raw[losers] == raw[winners])
    for kind, severity in ((differ, Severity.ERROR), (equal, Severity.WARNING)):
        if kind.any():
            pair = _pair(losers, winners, kind)
            where = [coordinates(int(s), full[::-1]) for s in slots[pair]]
            _report_lanes(op, machine, buffer, where, severity)


def _slots(full: tuple[int, int, int], mask: Bits | None) -> Index:
    """The linear position of each element touched among all lanes and registers."""
    slots = np.arange(full[0] * full[1] * full[2])
    if mask is None:
        return slots
    return slots[np.broadcast_to(mask, full).reshape(-1)]


def _pair(losers: Index, winners: Index, chosen: Bits) -> Index:
    at = int(np.flatnonzero(chosen)[0])
    return np.array([losers[at], winners[at]])


def _bits(data: Array) -> Array:
    """The elements as unsigned integers, so that NaN equals itself."""
    flat = np.ascontiguousarray(data).reshape(-1)
    return flat.view(f"u{flat.dtype.itemsize}")


def _report_race(
    op: Op, machine: Machine, buffer: Buffer, cell: int, whose: Index
) -> None:
    first, second = (machine.describe(int(who)) for who in whose)
    one = whose[0] // machine.width == whose[1] // machine.width
    several = "lanes that do not run in step" if one else "several waves"
    machine.reporter.add(
        codes.RACE,
        f"race on {buffer.describe()}: {several} write one element",
        op,
        label="written here by both",
        notes=(f"element {element(buffer, cell)}: {first}, and {second}",),
        help=(f"let one {'lane' if one else 'wave'} write each element",),
        cell=cell,
    )


def _report_lanes(
    op: Op,
    machine: Machine,
    buffer: Buffer,
    where: list[tuple[int, ...]],
    severity: Severity,
) -> None:
    values = "two values" if severity is Severity.ERROR else "one value twice"
    texts = [f"lane {lane}, register {register}" for register, lane, _ in where]
    machine.reporter.add(
        codes.LANES_COLLIDE,
        f"lanes of one wave give an element of {buffer.describe()} {values}",
        op,
        label="written here by both",
        notes=(f"{' and '.join(texts)} of {machine.units.describe(where[0][2])}",),
        help=("let one lane write each element",),
        severity=severity,
    )


def element(buffer: Buffer, cell: int) -> list[int]:
    """The coordinates of a cell."""
    if buffer.cells_per_workgroup:
        cell = cell % buffer.cells_per_workgroup - buffer.origin
    strides = buffer.strides
    place = [0] * len(strides)
    for axis in sorted(range(len(strides)), key=lambda i: -abs(strides[i])):
        if strides[axis]:
            steps, cell = divmod(cell, abs(strides[axis]))
            backwards = strides[axis] < 0
            place[axis] = buffer.shape[axis] - 1 - steps if backwards else steps
    return place
