"""Barriers, fences, priorities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.select.missing import MissingError
from wave_core.backends import lowers
from wave_core.ops import sync

if TYPE_CHECKING:
    from wave_backend_asm.codegen.emitter import Emitter

_LDS_DONE = {"lgkm": 0}
"""What of its own a wave waits for before others may look."""


@lowers(sync.SharedMemoryBarrier)
def shared_memory_barrier(op: sync.SharedMemoryBarrier, emit: Emitter) -> None:
    """Wait for the wave's own LDS accesses, then for the others."""
    if op.tensor_wait or op.wait_async_ops:
        raise MissingError("copies to LDS under way")
    emit.b.say("s_barrier", demands=_LDS_DONE)


@lowers(sync.WorkgroupBarrier)
def workgroup_barrier(op: sync.WorkgroupBarrier, emit: Emitter) -> None:
    """The bare barrier."""
    del op
    emit.b.say("s_barrier")


@lowers(sync.WaveFence)
def wave_fence(op: sync.WaveFence, emit: Emitter) -> None:
    """Nothing: a wave's accesses of LDS take place in their order, which stays."""
    del op, emit


@lowers(sync.SharedMemoryBarrierSignal)
def signal(op: sync.SharedMemoryBarrierSignal, emit: Emitter) -> None:
    """What is waited for before the arrival; the wait is the barrier."""
    if op.bar_id or op.tensor_wait:
        raise MissingError("named barriers")
    if op.ds_wait:
        emit.b.say("s_nop", (), (0,), demands=_LDS_DONE)


@lowers(sync.SharedMemoryBarrierWait)
def wait(op: sync.SharedMemoryBarrierWait, emit: Emitter) -> None:
    """The barrier."""
    if op.bar_id:
        raise MissingError("named barriers")
    emit.b.say("s_barrier")


@lowers(sync.SetWavePrio)
def set_priority(op: sync.SetWavePrio, emit: Emitter) -> None:
    """How soon a wave is chosen."""
    emit.b.say("s_setprio", (), (op.priority,))


@lowers(sync.SchedulingBarrier, sync.SchedulingGroupBarrier)
def scheduling_barrier(
    op: sync.SchedulingBarrier | sync.SchedulingGroupBarrier, emit: Emitter
) -> None:
    """Nothing: the order is the schedule's already."""
    del op, emit
