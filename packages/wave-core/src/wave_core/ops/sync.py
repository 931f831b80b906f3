"""Barriers, waits, priorities and hints to the instruction scheduler.

None has a value; all keep the place that the author gave them.
"""

from __future__ import annotations

from wave_core.diagnostics import user_error
from wave_core.ops.base import Op, attribute
from wave_core.ops.traits import Effect, EffectKind, Trait

ORDERS = ("acquire", "release", "acq_rel")
"""What a fence orders: what follows it, what comes before it, both."""

SCOPES = ("workgroup", "device", "system")
"""Who takes part: the workgroup, the device, everyone."""

MOST_GROUPS = 8
"""Groups of copies that barriers tell apart; LLVM follows up to 16 of a function."""

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
    ``tensor_wait`` tensor copies. What a wave copies between two of these barriers is
    a group. With ``groups_left`` the latest so many groups may still be on their way,
    of which the first ends here; more than `MOST_GROUPS` count as so many.
    """

    wait_async_ops: bool = attribute(
        default=False, help="wait for asynchronous copies to LDS"
    )
    tensor_wait: bool = attribute(default=False, help="wait for tensor copies")
    groups_left: int = attribute(
        least=0, default=0, help="groups of copies that are not waited for"
    )

    @property
    def lands_all(self) -> bool:
        """Whether no copy of before is on its way behind it."""
        return self.wait_async_ops and not self.groups_left


class WorkgroupBarrier(_Barrier, name="workgroup_barrier"):
    """All waves of the workgroup meet; no memory access is waited for."""


class WaveFence(_Barrier, name="wave_fence"):
    """Accesses of the wave's lanes before it come before those after it.

    Where all lanes of a wave run in step this costs no time: it keeps code generators,
    which look at one lane, from swapping accesses of different lanes. Where they do
    not, the lanes of the wave meet, and all of them must come.
    """


class Fence(_Ordered, name="fence"):
    """A wave's accesses of memory before it come before those after it.

    What others see of that hangs on a lock, an element that is written volatile or by
    an atomic. A ``release`` comes before the write of the lock: who sees the lock
    written sees what this wave wrote before, and what it had acquired. An ``acquire``
    comes after a read of the lock: what follows sees what the writer released.
    """

    order: str = attribute(default="acq_rel", help=f"one of {', '.join(ORDERS)}")
    scope: str = attribute(default="device", help=f"one of {', '.join(SCOPES)}")

    def effects(self) -> tuple[Effect, ...]:
        """Orders accesses of the wave."""
        return (Effect(EffectKind.FENCE),)

    @property
    def acquires(self) -> bool:
        """Whether what follows sees what others released."""
        return self.order != "release"

    @property
    def releases(self) -> bool:
        """Whether others may see what comes before it."""
        return self.order != "acquire"


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
    """Waits until at most so many operations of a kind are under way.

    Units: operations; ``None`` does not wait for the kind. ``mma`` are matrix products
    of instructions that go on before they are done: what is awaited has read its
    operands, and written its accumulator.
    """

    load: int | None = attribute(least=0, default=None, help="reads of global memory")
    store: int | None = attribute(least=0, default=None, help="writes to global memory")
    ds: int | None = attribute(least=0, default=None, help="LDS accesses")
    exp: int | None = attribute(least=0, default=None, help="exports")
    mma: int | None = attribute(
        least=0, default=None, help="asynchronous matrix products"
    )


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
    *(SharedMemoryBarrier, WorkgroupBarrier, WaveFence, Fence),
    *(SharedMemoryBarrierSignal, SharedMemoryBarrierWait),
    *(SetWavePrio, MemoryCounterWait, SchedulingBarrier, SchedulingGroupBarrier),
)


MEETINGS = (
    *(SharedMemoryBarrier, WorkgroupBarrier),
    *(SharedMemoryBarrierSignal, SharedMemoryBarrierWait),
)
"""Ops at which the waves of a workgroup meet, at once or in two halves."""
