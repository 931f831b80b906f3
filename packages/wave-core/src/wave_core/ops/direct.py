"""Copies from global memory to LDS that go through no register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, operand
from wave_core.ops.memory import Allocate
from wave_core.ops.traits import Effect, EffectKind
from wave_core.types import AddressSpace

if TYPE_CHECKING:
    from wave_core.types import AccessMapping, MemoryType


class GatherToLDS(Op, name="gather_to_lds"):
    """Starts a copy from global memory to LDS, and goes on.

    The data is there once the wave has waited for its copies, and other waves see it
    after the next barrier: ``shared_memory_barrier(wait_async_ops=True)`` does both.
    Until then neither the elements read nor those written may be touched otherwise.
    Elements that do not exist become 0.

    In lowered form the access row says what each lane reads; the landing row says
    where it arrives: the lanes of a wave side by side, whatever they read.

    Shapes: without a mapping both memories have the same dims; ``mapping`` gives the
    coordinates of the source as expressions of the destination's indices. Dtypes: the
    same. Raises: WV0413 for memories that do not fit.
    """

    source: Op = operand(help="the memory to copy from")
    destination: Op = operand(help="the buffer in LDS")
    mapping: AccessMapping | None = attribute(
        default=None, help="from indices of the buffer to coordinates of the source"
    )
    elements_per_thread: int | None = attribute(
        least=1,
        default=None,
        help="consecutive elements of one lane; chosen by default",
    )

    def infer(self) -> None:
        """No value; the memories have to fit."""
        source = rules.memory_type(self, self.source, "source")
        target = rules.memory_type(self, self.destination, "destination")
        if isinstance(self.source, Allocate):
            raise _unfit(self, "the source lies in LDS already", self.source)
        if target.space is not AddressSpace.SHARED:
            raise _unfit(self, "the destination is not in LDS", self.destination)
        if source.dtype != target.dtype:
            what = f"it copies {source.dtype} to {target.dtype}"
            raise _unfit(self, what, self.source)
        if not _connects(self.mapping, source, target):
            what = "the dims of the memories differ, and no mapping connects them"
            raise _unfit(self, what, self.source)

    def effects(self) -> tuple[Effect, ...]:
        """Reads one memory, and writes the other one some time later."""
        return (
            Effect(EffectKind.READ, self.source),
            Effect(EffectKind.DMA_WRITE, self.destination),
        )


def _connects(
    mapping: AccessMapping | None, source: MemoryType, target: MemoryType
) -> bool:
    """Whether every element of the target has its element of the source."""
    if mapping is None:
        return set(source.dims) == set(target.dims)
    fits = set(mapping.register_dims) == set(target.dims)
    return (
        fits
        and len(mapping.coordinates) == len(source.shape)
        and not mapping.dynamic_dims
    )


def _unfit(op: GatherToLDS, what: str, memory: Op) -> Exception:
    return user_error(
        "WV0413",
        f"`gather_to_lds` cannot copy: {what}",
        at=op.location,
        secondary=((memory.location, f"this is {memory.type}"),),
        help="copy from a kernel argument to an allocation of the same element type",
    )
