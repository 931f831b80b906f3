"""Barriers, fences, signals, waits; hints to the hardware do nothing here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_sim_cpu import codes
from wave_sim_cpu.launch import coordinates

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.ops.sync import (
        Fence,
        MemoryCounterWait,
        SharedMemoryBarrier,
        SharedMemoryBarrierSignal,
        SharedMemoryBarrierWait,
        WaveFence,
        WorkgroupBarrier,
    )
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.lanes.program import Program, Step


def shared_memory_barrier(op: SharedMemoryBarrier, _program: Program) -> Step:
    """All waves meet, and their accesses are done."""

    def step(machine: Machine) -> None:
        number = machine.journal.access_number + 1
        machine.epochs.close_group(machine.active_units(), number)
        if op.tensor_wait:
            machine.epochs.land(machine.active_units(), number)
        elif op.wait_async_ops:
            machine.epochs.land_groups(machine.active_units(), op.groups_left)
        machine.epochs.barrier(machine.active_units(), number)
        _met(op, machine)

    return step


def workgroup_barrier(op: WorkgroupBarrier, _program: Program) -> Step:
    """All waves meet; only accesses that were waited for are done."""

    def step(machine: Machine) -> None:
        machine.epochs.meet(machine.active_units())
        _met(op, machine)

    return step


def wave_fence(op: WaveFence, _program: Program) -> Step:
    """Lanes of each wave that do not run in step meet; others are in order anyway."""

    def step(machine: Machine) -> None:
        if machine.width > 1:
            _meet_in_waves(machine)
            machine.meetings.in_waves(op, machine.active)

    return step


def _meet_in_waves(machine: Machine) -> None:
    active = machine.active_units()
    machine.epochs.fence(active, machine.journal.access_number + 1)
    if machine.clocks is not None:
        machine.clocks.fence(active)


def fence(op: Fence, _program: Program) -> Step:
    """The waves know what they found in locks, and let others know what they did."""

    def step(machine: Machine) -> None:
        machine.counters.instructions["fence"] += machine.active_waves
        clocks, active = machine.clocks, machine.active_units()
        if clocks is None or op.scope == "workgroup":
            return
        if op.acquires:
            clocks.acquire(active)
        if op.releases:
            clocks.release(active, machine.journal.access_number + 1)

    return step


def _met(op: Op, machine: Machine) -> None:
    if machine.width > 1:
        _meet_in_waves(machine)
    if machine.clocks is not None:
        machine.clocks.meet(machine.active_units())
    machine.counters.instructions["barrier"] += machine.active_waves
    machine.meetings.met(op, machine.active)
    for buffer in machine.buffers.values():
        if buffer.is_lds and buffer.valid is not None and buffer.valid.all():
            buffer.valid = None


def signal(op: SharedMemoryBarrierSignal, _program: Program) -> Step:
    """The waves announce that they came so far."""

    def step(machine: Machine) -> None:
        number = machine.journal.access_number + 1
        active = machine.active_units()
        if op.tensor_wait:
            machine.epochs.land(active, number)
        machine.epochs.signal(active, op.bar_id, number, drained=op.ds_wait)
        machine.counters.instructions["barrier_signal"] += machine.active_waves

    return step


def wait(op: SharedMemoryBarrierWait, _program: Program) -> Step:
    """The waves wait for the signals of all."""

    def step(machine: Machine) -> None:
        stuck = machine.epochs.wait(machine.active_units(), op.bar_id)
        if machine.clocks is not None:
            machine.clocks.meet(machine.active_units())
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
    """The waves wait for their own LDS accesses, if all are asked for, and others."""

    def step(machine: Machine) -> None:
        number = machine.journal.access_number + 1
        if op.ds == 0:
            machine.epochs.drain(machine.active_units(), number)
        if op.load is not None:
            machine.epochs.land(machine.active_units(), number, op.load)
        if op.mma is not None:
            machine.epochs.finish(machine.active_units(), number, op.mma)
        machine.counters.instructions["wait"] += machine.active_waves

    return step


def hint(_op: Op, _program: Program) -> Step:
    """Says something to the instruction scheduler only."""
    return lambda _machine: None
