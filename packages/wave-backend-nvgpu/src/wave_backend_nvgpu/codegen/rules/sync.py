"""Barriers, fences and waits; hints to other machines' schedulers mean nothing here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.emitter import Emitter, unsupported
from wave_core.analysis.waves import wave_number
from wave_core.backends import lowers
from wave_core.ops import sync

if TYPE_CHECKING:
    from wave_core.ops.base import Op


@lowers(sync.SharedMemoryBarrier)
def shared_memory_barrier(op: sync.SharedMemoryBarrier, emit: Emitter) -> None:
    """Wait for the thread's own copies, then for the others.

    What a thread copies between two barriers is a group.
    """
    left = min(op.groups_left, sync.MOST_GROUPS) if op.wait_async_ops else None
    close_group(emit, left)
    meet(emit)


def close_group(emit: Emitter, left: int | None) -> None:
    """End a group of copies; wait until so many groups are on their way."""
    if emit.boxes is not None:
        emit.boxes.close(left)
    if not emit.has_copies:
        return
    emit.builder.call("llvm.nvvm.cp.async.commit.group", "void", ())
    if left is not None:
        _wait_for_groups(emit, left)


def _wait_for_groups(emit: Emitter, left: int) -> None:
    name = "llvm.nvvm.cp.async.wait.group"
    emit.builder.declare(name, f"declare void @{name}(i32 immarg)")
    emit.builder.line(f"call void @{name}(i32 {left})")


def meet(emit: Emitter) -> None:
    """All threads of the workgroup meet; what they wrote to shared memory is seen."""
    _show_products(emit)
    name = "llvm.nvvm.barrier.cta.sync.aligned.all"
    emit.builder.declare(name, f"declare void @{name}(i32)")
    emit.builder.line(f"call void @{name}(i32 0)")


def _show_products(emit: Emitter) -> None:
    """Let matrix units see what the thread wrote to shared memory.

    Source: PTX ISA, "Async proxy": each thread that wrote it says so, and then meets
    those that issue products. Boxes arrive by the proxy that products read by: where
    nothing else touches shared memory, there is nothing to show.
    """
    if emit.shows:
        emit.builder.assembly("fence.proxy.async.shared::cta;", (), ())


NAMED_BARRIERS = 15
"""Beside that of the workgroup. Source: PTX ISA, bar: 16 barriers."""


def _meet_in_wave(op: sync.WaveFence, emit: Emitter) -> None:
    """All lanes of a wave of several warps meet, at the barrier that is the wave's."""
    geometry = emit.geometry
    if geometry.waves_per_workgroup == 1:
        meet(emit)
        return
    if geometry.waves_per_workgroup > NAMED_BARRIERS:
        raise unsupported(
            op,
            f"{geometry.waves_per_workgroup} waves of {geometry.lanes} lanes have"
            f" {NAMED_BARRIERS} barriers",
            f"use {NAMED_BARRIERS} waves at most, or waves of {geometry.in_step} lanes",
        )
    _show_products(emit)
    number = emit.indices.number(emit.expr(wave_number(geometry) + 1), 32)
    name = "llvm.nvvm.barrier.cta.sync.aligned.count"
    emit.builder.declare(name, f"declare void @{name}(i32, i32)")
    emit.builder.line(f"call void @{name}(i32 {number}, i32 {geometry.lanes})")


@lowers(sync.WorkgroupBarrier)
def workgroup_barrier(op: sync.WorkgroupBarrier, emit: Emitter) -> None:
    """The barrier, which also orders shared memory."""
    del op
    meet(emit)


@lowers(sync.WaveFence)
def wave_fence(op: sync.WaveFence, emit: Emitter) -> None:
    """The lanes of a wave that are here, and need not run in step, meet.

    Those of several warps meet at a named barrier, to which all of them come.
    """
    if emit.geometry.lanes > emit.geometry.in_step:
        _meet_in_wave(op, emit)
        return
    emit.builder.call("llvm.nvvm.bar.warp.sync", "void", [("i32", emit.lanes)])


@lowers(sync.Fence)
def fence(op: sync.Fence, emit: Emitter) -> None:
    """Order the thread's accesses; every fence of the machine does both halves."""
    emit.builder.line(f"fence {scope_words(op.scope)}acq_rel")


def scope_words(scope: str) -> str:
    """The scope in LLVM's words, with a space behind; its own is the system's."""
    names = {"workgroup": "block", "device": "device"}
    return f'syncscope("{names[scope]}") ' if scope in names else ""


@lowers(sync.SharedMemoryBarrierSignal)
def signal(op: sync.SharedMemoryBarrierSignal, emit: Emitter) -> None:
    """End the thread's copies; the wait meets the others, which is stricter."""
    _check_whole_workgroup(op, op.bar_id)
    if op.tensor_wait:
        close_group(emit, 0)


@lowers(sync.SharedMemoryBarrierWait)
def wait(op: sync.SharedMemoryBarrierWait, emit: Emitter) -> None:
    """Wait for all to have arrived."""
    _check_whole_workgroup(op, op.bar_id)
    meet(emit)


def _check_whole_workgroup(op: Op, bar_id: int) -> None:
    if bar_id not in (0, -1):
        why = f"barrier {bar_id} is a named one"
        raise unsupported(op, why, "use barrier 0, that of the whole workgroup")


@lowers(sync.MemoryCounterWait)
def memory_counter_wait(op: sync.MemoryCounterWait, emit: Emitter) -> None:
    """Wait for copies and products; what reads and writes a register waits itself.

    The number counts loads of all kinds, groups are fewer: so none is left.
    """
    if op.load is not None:
        close_group(emit, 0)
    if op.mma is not None:
        emit.under_way.wait(op.mma)


@lowers(sync.SetWavePrio, sync.SchedulingBarrier, sync.SchedulingGroupBarrier)
def hint(op: Op, emit: Emitter) -> None:
    """Nothing: the assembler orders instructions, and there are no priorities."""
    del op, emit
