"""Barriers, signals, waits; hints to the hardware do nothing here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_sim_cpu import codes
from wave_sim_cpu.units import coordinates

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.ops.sync import MemoryCounterWait
    from wave_core.ops.sync import SharedMemoryBarrier
    from wave_core.ops.sync import SharedMemoryBarrierSignal
    from wave_core.ops.sync import SharedMemoryBarrierWait
    from wave_core.ops.sync import WorkgroupBarrier
    from wave_sim_cpu.arrays import Bits
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.lanes.program import Program
    from wave_sim_cpu.lanes.program import Step


def shared_memory_barrier(op: SharedMemoryBarrier, _program: Program) -> Step:
    """All waves meet, and their accesses are done."""

    def step(machine: Machine) -> None:
        number = machine.journal.access_number + 1
        absent = machine.epochs.barrier(machine.active_units(), number)
        _met(op, machine, absent)

    return step


def workgroup_barrier(op: WorkgroupBarrier, _program: Program) -> Step:
    """All waves meet; only accesses that were waited for are done."""

    def step(machine: Machine) -> None:
        _met(op, machine, machine.epochs.meet(machine.active_units()))

    return step


def _met(op: Op, machine: Machine, absent: Bits) -> None:
    machine.counters.instructions["barrier"] += machine.active_waves
    if absent.any():
        _report_divergence(op, machine, absent)
    for buffer in machine.buffers.values():
        if buffer.is_lds and buffer.valid is not None and buffer.valid.all():
            buffer.valid = None


def _report_divergence(op: Op, machine: Machine, absent: Bits) -> None:
    group = int(np.flatnonzero(absent)[0])
    units = machine.units
    here = machine.epochs.by_workgroup(machine.active_units())[group]
    machine.reporter.add(
        codes.DIVERGENT_BARRIER,
        f"{int(here.sum())} of {here.size} waves of workgroup "
        f"{coordinates(units.first + group, units.grid)} reach a barrier",
        op,
        label="the others never come here",
        notes=(f"present: waves {np.flatnonzero(here).tolist()}",),
        help=("move the barrier out of what only some waves execute",),
    )


def signal(op: SharedMemoryBarrierSignal, _program: Program) -> Step:
    """The waves announce that they came so far."""

    def step(machine: Machine) -> None:
        number = machine.journal.access_number + 1
        active = machine.active_units()
        machine.epochs.signal(active, op.bar_id, number, drained=op.ds_wait)
        machine.counters.instructions["barrier_signal"] += machine.active_waves

    return step


def wait(op: SharedMemoryBarrierWait, _program: Program) -> Step:
    """The waves wait for the signals of all."""

    def step(machine: Machine) -> None:
        stuck = machine.epochs.wait(machine.active_units(), op.bar_id)
        machine.counters.instructions["barrier_wait"] += machine.active_waves
        if not stuck.any():
            return
        group = machine.units.first + int(np.flatnonzero(stuck)[0])
        machine.reporter.add(
            codes.UNMATCHED_WAIT,
            f"waves of workgroup {coordinates(group, machine.units.grid)} wait for "
            f"barrier {op.bar_id}, which not all waves have signalled",
            op,
            label="waits for ever",
            help=("signal the barrier in every wave before any wave waits for it",),
        )

    return step


def memory_counter_wait(op: MemoryCounterWait, _program: Program) -> Step:
    """The waves wait for their own LDS accesses, if all of them are asked for."""

    def step(machine: Machine) -> None:
        if op.ds == 0:
            number = machine.journal.access_number + 1
            machine.epochs.drain(machine.active_units(), number)
        machine.counters.instructions["wait"] += machine.active_waves

    return step


def hint(_op: Op, _program: Program) -> Step:
    """Says something to the instruction scheduler only."""
    return lambda _machine: None
