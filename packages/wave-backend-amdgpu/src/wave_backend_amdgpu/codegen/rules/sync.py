"""Barriers, waits, priorities and hints to the scheduler of the code generator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.emitter import Emitter, unsupported
from wave_core.backends import lowers
from wave_core.ops import sync
from wave_core.ops.control import Breakpoint
from wave_core.targets import BarrierKind

if TYPE_CHECKING:
    from wave_core.ops.base import Op

_LDS_ONLY = '{llvm.mmra = #llvm.mmra_tag<"amdgpu-synchronize-as":"local">}'
"""On a fence: it orders accesses of LDS, and global memory goes on."""

_SIGNAL, _WAIT = "rocdl.s.barrier.signal id = -1", "rocdl.s.barrier.wait id = -1"

_MASKS = {
    name: word
    for names, word in (
        ("none", "none"),
        ("alu", "non_mem_non_sideeffect"),
        ("valu", "valu"),
        ("salu", "salu"),
        ("mma mfma", "mfma_wmma"),
        ("global vmem", "all_vmem"),
        ("read_global vmem_read", "vmem_read"),
        ("write_global vmem_write", "vmem_write"),
        ("shared ds", "all_ds"),
        ("read_shared ds_read", "ds_read"),
        ("write_shared ds_write", "ds_write"),
        ("trans", "transcendental"),
    )
    for name in names.split()
}
"""Names of instruction kinds: the language's and the hardware's, and the MLIR word."""


@lowers(sync.SharedMemoryBarrier)
def shared_memory_barrier(op: sync.SharedMemoryBarrier, emit: Emitter) -> None:
    """Wait for the wave's own LDS accesses (and copies), then for the others."""
    if emit.marks_copies:
        _close_group(op, emit)
    if op.tensor_wait or (op.wait_async_ops and not emit.marks_copies):
        emit.builder.line("amdgpu.memory_counter_wait load(0)")
    emit.builder.line("amdgpu.lds_barrier")


def _close_group(op: sync.SharedMemoryBarrier, emit: Emitter) -> None:
    """End a group of copies, and wait for those that may not be on their way.

    LLVM counts what the wave issues behind each mark, loads and stores too, and makes
    of that the number to wait for. Its scheduler would move matrix instructions, which
    touch no memory, from before the wait to behind it, and nothing would be left to
    do while copies are on their way.
    """
    if op.wait_async_ops:
        emit.builder.line("rocdl.sched.barrier none")
    if op.wait_async_ops or emit.leaves_copies:
        emit.builder.line("rocdl.asyncmark")
    if op.wait_async_ops:
        left = min(op.groups_left, sync.MOST_GROUPS)
        emit.builder.line(f"rocdl.wait.asyncmark {left}")


@lowers(sync.WorkgroupBarrier)
def workgroup_barrier(op: sync.WorkgroupBarrier, emit: Emitter) -> None:
    """The bare barrier."""
    del op
    if emit.target.barrier is BarrierKind.SPLIT:
        emit.builder.line(_SIGNAL)
        emit.builder.line(_WAIT)
    else:
        emit.builder.line("rocdl.s.barrier")


@lowers(sync.WaveFence)
def wave_fence(op: sync.WaveFence, emit: Emitter) -> None:
    """An order of accesses of LDS for the compiler: no instruction comes of it.

    The fence orders what one lane does. Where branches with one condition stand before
    and behind it, LLVM would copy all between into both, and execute one copy before
    the other; it copies no barrier, for all lanes meet there.
    """
    del op
    emit.builder.line(f'llvm.fence syncscope("wavefront") acq_rel {_LDS_ONLY}')
    emit.builder.line('llvm.call_intrinsic "llvm.amdgcn.wave.barrier"() : () -> ()')


@lowers(sync.Fence)
def fence(op: sync.Fence, emit: Emitter) -> None:
    """Wait for the wave's accesses, write back and drop what caches hold."""
    emit.builder.line(f"llvm.fence {scope_words(op.scope)}{op.order}")


def scope_words(scope: str) -> str:
    """The scope in LLVM's words, with a space behind; its own is the system's."""
    names = {"workgroup": "workgroup", "device": "agent"}
    return f'syncscope("{names[scope]}") ' if scope in names else ""


def _fence(emit: Emitter, order: str) -> None:
    """Keep the code generator from moving LDS accesses across a bare barrier.

    A release also waits for the wave's own LDS accesses.
    """
    emit.builder.line(f'llvm.fence syncscope("workgroup") {order} {_LDS_ONLY}')


@lowers(sync.SharedMemoryBarrierSignal)
def signal(op: sync.SharedMemoryBarrierSignal, emit: Emitter) -> None:
    """Arrive. Without split barriers the wait does both, which is stricter."""
    _check_whole_workgroup(op, op.bar_id)
    if op.tensor_wait:
        emit.builder.line("amdgpu.memory_counter_wait load(0)")
    if op.ds_wait:
        _fence(emit, "release")
    if emit.target.barrier is BarrierKind.SPLIT:
        emit.builder.line(_SIGNAL)


@lowers(sync.SharedMemoryBarrierWait)
def wait(op: sync.SharedMemoryBarrierWait, emit: Emitter) -> None:
    """Wait for all to have arrived."""
    _check_whole_workgroup(op, op.bar_id)
    if emit.target.barrier is BarrierKind.SPLIT:
        emit.builder.line(_WAIT)
        _fence(emit, "acquire")
    else:
        emit.builder.line("amdgpu.lds_barrier")


def _check_whole_workgroup(op: Op, bar_id: int) -> None:
    if bar_id not in (0, -1):
        why = f"barrier {bar_id} is a named one"
        raise unsupported(op, why, "use barrier 0, that of the whole workgroup")


@lowers(sync.SetWavePrio)
def set_wave_prio(op: sync.SetWavePrio, emit: Emitter) -> None:
    """The priority."""
    emit.builder.line(f"rocdl.s.setprio {op.priority}")


@lowers(sync.MemoryCounterWait)
def memory_counter_wait(op: sync.MemoryCounterWait, emit: Emitter) -> None:
    """Wait for the counters that are named, as far as they can count."""
    counts = {"load": op.load, "store": op.store, "ds": op.ds, "exp": op.exp}
    limits = {counter.name: counter.limit for counter in emit.target.counters}
    if "store" not in limits:
        # One counter for both: it may not exceed either.
        both = [each for each in (op.load, op.store) if each is not None]
        counts |= {"load": min(both, default=None), "store": None}
    rows = [
        f"{name}({min(count, limits.get(name, count))})"
        for name, count in counts.items()
        if count is not None
    ]
    if rows:
        emit.builder.line(f"amdgpu.memory_counter_wait {' '.join(rows)}")


@lowers(sync.SchedulingBarrier)
def scheduling_barrier(op: sync.SchedulingBarrier, emit: Emitter) -> None:
    """Instructions do not move across, but the kinds that are named."""
    kinds = sorted({_mask(op, name) for name in op.operations} - {"none"})
    emit.builder.line(f"rocdl.sched.barrier {'|'.join(kinds) or 'none'}")


@lowers(sync.SchedulingGroupBarrier)
def scheduling_group_barrier(op: sync.SchedulingGroupBarrier, emit: Emitter) -> None:
    """One line for each group."""
    for name, count in op.instructions:
        emit.builder.line(
            f"rocdl.sched.group.barrier {_mask(op, name)}, {count}, {op.sync_id}"
        )


def _mask(op: Op, name: str) -> str:
    found = _MASKS.get(name.lower())
    if found is None:
        known = ", ".join(_MASKS)
        raise unsupported(
            op, f"there is no instruction kind `{name}`", f"kinds: {known}"
        )
    return found


@lowers(Breakpoint)
def breakpoint_op(op: Breakpoint, emit: Emitter) -> None:
    """Nothing: for a launch, logs have taken its place."""
    del op, emit
