"""Surface functions for barriers, waits, scheduling hints and debugging."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.ops import sync
from wave_core.ops.control import Breakpoint
from wave_core.trace.context import active
from wave_core.trace.surface import surface
from wave_core.trace.value import emit_op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.diagnostics import Location

shared_memory_barrier = surface(sync.SharedMemoryBarrier)
shared_memory_barrier_signal = surface(sync.SharedMemoryBarrierSignal)
shared_memory_barrier_wait = surface(sync.SharedMemoryBarrierWait)
workgroup_barrier = surface(sync.WorkgroupBarrier)
wave_fence = surface(sync.WaveFence)
set_wave_prio = surface(sync.SetWavePrio)
memory_counter_wait = surface(sync.MemoryCounterWait)


@coded_arguments
def fence(order: str = "acq_rel", scope: str = "device", *, tag: Any = None) -> None:
    """What the workgroup did to memory before it comes before what it does after it.

    Workgroups that hand data over need it on both sides of the lock that says so: who
    writes a lock after a release shows what was written before, and who has seen the
    lock and acquires sees that. In a kernel on tiles the waves of the workgroup meet
    here. In code of single threads each wave orders its own accesses alone.

    Args:
        order: ``acquire``: what follows sees what others released. ``release``:
            others may see what comes before it. ``acq_rel``: both.
        scope: With whom: ``workgroup``, ``device`` or ``system``.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0101, WV0222 for another word.
    """
    location = capture_location()
    fields = {
        "order": one_of("order", order, sync.ORDERS, location),
        "scope": one_of("scope", scope, sync.SCOPES, location),
    }
    emit_op(sync.Fence, fields, tag=tag, location=location)
    if not active("fence").threads:
        emit_op(sync.WorkgroupBarrier, {}, tag=tag, location=location)


def one_of(name: str, given: object, words: Sequence[str], at: Location) -> object:
    """``given``, which is one of ``words``.

    Raises:
        UserError: WV0222 for anything else.
    """
    if given in words:
        return given
    raise user_error(
        "WV0222",
        f"`{name}` is {given!r}",
        at=at,
        label="given here",
        help=f"it takes one of {', '.join(map(repr, words))}",
    )


class Operation(Enum):
    """Kinds of instructions that scheduling hints name."""

    ALU = "alu"
    VALU = "valu"
    SALU = "salu"
    MMA = "mma"
    READ_GLOBAL = "read_global"
    WRITE_GLOBAL = "write_global"
    READ_SHARED = "read_shared"
    WRITE_SHARED = "write_shared"


@coded_arguments
def memory_counter_wait_barrier(
    load: int | None = None,
    store: int | None = None,
    ds: int | None = None,
    exp: int | None = None,
) -> None:
    """Wait for memory operations of the wave, then for the other waves."""
    memory_counter_wait(load, store, ds, exp)
    workgroup_barrier()


@coded_arguments
def scheduling_barrier(
    operations: Sequence[Operation] = (), *, tag: Any = None
) -> None:
    """No instruction moves across, but those of the named kinds."""
    fields = {"operations": tuple(operation.value for operation in operations)}
    emit_op(sync.SchedulingBarrier, fields, tag=tag, location=capture_location())


@coded_arguments
def scheduling_group_barrier(
    instructions: Mapping[Operation, int], sync_id: int = 0, *, tag: Any = None
) -> None:
    """Issue groups of instructions in this order, so many of each kind."""
    location = capture_location()
    if not _are_counts(instructions):
        raise user_error(
            "WV0222",
            f"`instructions` is {instructions!r}",
            at=location,
            label="given here",
            help="it takes counts by kind: `{Operation.MMA: 2}`",
        )
    rows = tuple((kind.value, count) for kind, count in instructions.items())
    fields = {"instructions": rows, "sync_id": sync_id}
    emit_op(sync.SchedulingGroupBarrier, fields, tag=tag, location=location)


def _are_counts(given: object) -> bool:
    """Whether it is a mapping of kinds to counts."""
    if not isinstance(given, Mapping):
        return False
    rows = cast("Mapping[object, object]", given).items()
    return all(isinstance(k, Operation) and type(n) is int and n >= 0 for k, n in rows)


def breakpoint_here(*values: Any, tag: Any = None, **named: Any) -> None:
    """Show these registers as tensors, in ``kernel.last_run.snapshots``.

    Registers given by keyword are shown under that name. A simulation stops here;
    machine code logs the registers, with an iteration of each counted loop around, and
    they are shown after the launch. Code that is emitted to files has none of it.
    """
    labels = (*(f"value{i}" for i in range(len(values))), *named)
    fields = {"values": (*values, *named.values()), "labels": labels}
    emit_op(Breakpoint, fields, tag=tag, location=capture_location())
