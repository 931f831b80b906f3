"""Barriers, fences, priorities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.select.missing import MissingError
from wave_backend_asm.waits.issued import Groups
from wave_core.backends import lowers
from wave_core.ops import sync

if TYPE_CHECKING:
    from wave_backend_asm.codegen.emitter import Emitter

_LDS_DONE = {"lgkm": 0}
"""What of its own a wave waits for before others may look."""


@lowers(sync.SharedMemoryBarrier)
def shared_memory_barrier(op: sync.SharedMemoryBarrier, emit: Emitter) -> None:
    """Wait for the wave's own LDS accesses (and copies), then for the others."""
    if op.tensor_wait:
        raise MissingError("copies of boxes")
    if not emit.marks_copies:
        copies = {"vm": 0} if emit.copies else {}
        emit.b.say("s_barrier", demands={**_LDS_DONE, **copies})
        return
    waits = op.wait_async_ops
    left = min(op.groups_left, sync.MOST_GROUPS) if waits else None
    closes = waits or emit.leaves_copies
    groups = Groups(left=left, closes=closes)
    emit.b.say("s_barrier", demands=_LDS_DONE, groups=groups)


@lowers(sync.MemoryCounterWait)
def memory_counter_wait(op: sync.MemoryCounterWait, emit: Emitter) -> None:
    """Wait for the counters that are named; loads and stores have one."""
    both = [each for each in (op.load, op.store) if each is not None]
    demands = {"vm": min(both)} if both else {}
    if op.ds is not None:
        demands["lgkm"] = op.ds
    emit.b.say("s_nop", (), (0,), demands=demands)


@lowers(sync.Fence)
def fence(op: sync.Fence, emit: Emitter) -> None:
    """Wait for the wave's accesses, write back and drop what caches hold."""
    b, done = emit.b, {"vm": 0, "lgkm": 0}
    writes = b.chip.writes_back.get(op.scope, ()) if op.releases else ()
    drops = b.chip.drops.get(op.scope, ()) if op.acquires else ()
    for name, bits in (*writes, *drops):
        b.say(name, (), (), bits, demands=done)
    if not drops:
        b.say("s_nop", (), (0,), demands=done)


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


@lowers(sync.SchedulingBarrier)
def scheduling_barrier(op: sync.SchedulingBarrier, emit: Emitter) -> None:
    """No code; instructions stay on their side of it."""
    del op
    emit.b.stay()


@lowers(sync.SchedulingGroupBarrier)
def scheduling_group_barrier(op: sync.SchedulingGroupBarrier, emit: Emitter) -> None:
    """Nothing: it asks another compiler for an order that is here already."""
    del op, emit
