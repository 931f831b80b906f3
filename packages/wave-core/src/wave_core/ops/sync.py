"""Barriers, waits, priorities and hints to the instruction scheduler.

None has a value; all keep the place that the author gave them.
"""

from __future__ import annotations

from wave_core.diagnostics import user_error
from wave_core.ops.base import Op, attribute
from wave_core.ops.traits import Effect, EffectKind, Trait

MAX_PRIORITY = 3
"""Source: AMD CDNA3 ISA, S_SETPRIO: two bits of user priority."""


class _Ordered(Op, traits={Trait.ORDERED}):
    """An op that stays where it is."""


class _Barrier(_Ordered):
    """An op that orders the memory accesses of waves."""

    def effects(self) -> tuple[Effect, ...]:
        """Orders all memory."""
        return (Effect(EffectKind.BARRIER),)


class SharedMemoryBarrier(_Barrier, name="shared_memory_barrier"):
    """All waves of the workgroup meet; LDS writes before it are seen after it.

    With ``wait_async_ops`` asynchronous copies to LDS have landed as well, with
    ``tensor_wait`` tensor copies.
    """

    wait_async_ops: bool = attribute(
        default=False, help="wait for asynchronous copies to LDS"
    )
    tensor_wait: bool = attribute(default=False, help="wait for tensor copies")


class WorkgroupBarrier(_Barrier, name="workgroup_barrier"):
    """All waves of the workgroup meet; no memory access is waited for."""


class WaveFence(_Barrier, name="wave_fence"):
    """LDS accesses of the wave's lanes before it come before those after it.

    Lanes of a wave run in step, so this costs no time: it keeps code generators, which
    look at one lane, from swapping accesses of different lanes.
    """


class SharedMemoryBarrierSignal(_Barrier, name="shared_memory_barrier_signal"):
    """The wave says that it reached barrier ``bar_id``, and goes on.

    With ``ds_wait`` its LDS accesses are done by then, with ``tensor_wait`` its
    tensor copies.
    """

    bar_id: int = attribute(default=0, help="which barrier")
    tensor_wait: bool = attribute(default=False, help="wait for tensor copies")
    ds_wait: bool = attribute(default=True, help="wait for the wave's LDS accesses")


class SharedMemoryBarrierWait(_Barrier, name="shared_memory_barrier_wait"):
    """The wave waits until all waves have signalled barrier ``bar_id``."""

    bar_id: int = attribute(default=0, help="which barrier")


class SetWavePrio(_Ordered, name="set_wave_prio"):
    """The priority of the wave among those of its SIMD, 0 to 3.

    Raises: WV0219 for another number.
    """

    priority: int = attribute(help="0 is lowest")

    def infer(self) -> None:
        """No value."""
        if not 0 <= self.priority <= MAX_PRIORITY:
            raise user_error(
                "WV0219",
                f"wave priority {self.priority} is outside 0..{MAX_PRIORITY}",
                at=self.location,
                help=f"use a number from 0 to {MAX_PRIORITY}",
            )


class MemoryCounterWait(_Barrier, name="memory_counter_wait"):
    """Waits until at most so many memory operations of a kind are under way.

    Units: operations; ``None`` does not wait for the kind.
    """

    load: int | None = attribute(least=0, default=None, help="reads of global memory")
    store: int | None = attribute(least=0, default=None, help="writes to global memory")
    ds: int | None = attribute(least=0, default=None, help="LDS accesses")
    exp: int | None = attribute(least=0, default=None, help="exports")


class SchedulingBarrier(_Ordered, name="scheduling_barrier"):
    """Instructions do not move across, but those of the named kinds."""

    operations: tuple[str, ...] = attribute(
        default=(), help="kinds of instructions that may move across"
    )


class SchedulingGroupBarrier(_Ordered, name="scheduling_group_barrier"):
    """Groups of instructions to issue in this order: (kind, how many) each."""

    instructions: tuple[tuple[str, int], ...] = attribute(
        help="(kind of instruction, how many) pairs"
    )
    sync_id: int = attribute(default=0, help="groups of one number keep their order")


SYNCHRONIZATION = (
    *(SharedMemoryBarrier, WorkgroupBarrier, WaveFence),
    *(SharedMemoryBarrierSignal, SharedMemoryBarrierWait),
    *(SetWavePrio, MemoryCounterWait, SchedulingBarrier, SchedulingGroupBarrier),
)
