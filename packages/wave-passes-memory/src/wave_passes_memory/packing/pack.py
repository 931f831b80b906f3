"""Packs the buffers of LDS; see `PackSharedMemory`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.analysis.dependences.storage import lds_bytes, static_bytes
from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.ir import set_attributes
from wave_core.ops.memory import Allocate
from wave_core.ops.sync import SharedMemoryBarrierSignal, SharedMemoryBarrierWait
from wave_core.passes import Pass, option
from wave_passes_memory.packing.first_fit import Block, first_fit, peak
from wave_passes_memory.packing.lifetimes import Lifetimes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class PackSharedMemory(Pass):
    """Let buffers that are not needed at the same time share LDS.

    Each buffer gets an offset, large ones first, each the lowest that is free while
    it is needed. What shares memory depends on each other; the barriers come from
    the pass that places barriers, so sharing within a loop costs barriers in each
    iteration: it is done only where asked for, or where LDS does not suffice otherwise.
    Needs expanded tiles, and schedules that have been applied. Does nothing where no
    byte is saved, where buffers have offsets already, or where the author placed
    halves of barriers.

    Example::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            %a = argument parameter "a" : mem<M, global, f32>
        -   %t = allocate {shape = [M], distributed_shape = [`64`], dtype = !f32} :
        -       mem<M, shared, f32, physical[64]>
        -   %u = allocate {shape = [M], distributed_shape = [`64`], dtype = !f32} :
        -       mem<M, shared, f32, physical[64]>
        +   %t = allocate {shape = [M], distributed_shape = [`64`], dtype = !f32,
        +       offset = 0} : mem<M, shared, f32, physical[64]>
        +   %u = allocate {shape = [M], distributed_shape = [`64`], dtype = !f32,
        +       offset = 0} : mem<M, shared, f32, physical[64]>
            %x = read %a, [] : reg<M, f32> @access(coordinates = [$LANE], registers = 1)
            write %x, %t, [] @access(coordinates = [$LANE], registers = 1)
            %y = read %t, [] : reg<M, f32>
                @access(coordinates = [63 - $LANE], registers = 1)
            write %y, %u, [] @access(coordinates = [$LANE], registers = 1)
            %z = read %u, [] : reg<M, f32>
                @access(coordinates = [63 - $LANE], registers = 1)
            write %z, %a, [] @access(coordinates = [$LANE], registers = 1)
            yield []
          }
    """

    alignment: int = option(
        16,
        "bytes that the start of a buffer is a multiple of",
        at_least=1,
        at_most=1 << 16,
    )
    within_loops: bool = option(
        False, "share memory in each iteration of a loop, with more barriers"
    )
    by_size: bool | None = option(None, "place large buffers first")

    def should_run(self, graph: Graph) -> bool:
        """One buffer has nobody to share with."""
        buffers = [op for op in graph.walk() if isinstance(op, Allocate)]
        return len(buffers) > 1

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Set the offsets."""
        buffers = [op for op in graph.walk() if isinstance(op, Allocate)]
        before = lds_bytes(buffers, graph.bindings)
        if not _packable(graph, buffers):
            return False
        packing = _Packing(graph, buffers, context, self)
        offsets, size = packing.place(within_loops=self.within_loops)
        if size > context.target.memory.lds_bytes and not self.within_loops:
            offsets, size = packing.place(within_loops=True)
        context.count("lds_bytes", min(size, before))
        context.count("lds_bytes_saved", max(0, before - size))
        if size >= before:
            return False
        for op, offset in zip(buffers, offsets, strict=True):
            set_attributes(op, offset=offset)
        return True


def _packable(graph: Graph, buffers: Sequence[Allocate]) -> bool:
    halves = (SharedMemoryBarrierSignal, SharedMemoryBarrierWait)
    if any(isinstance(op, halves) for op in graph.walk()):
        return False
    return all(op.offset is None for op in buffers)


class _Packing:
    """The buffers of one graph, when they are needed, and who must stay apart."""

    def __init__(
        self,
        graph: Graph,
        buffers: Sequence[Allocate],
        context: PassContext,
        options: PackSharedMemory,
    ) -> None:
        self._sizes = [static_bytes(op, graph.bindings) for op in buffers]
        self._options = options
        self._lifetimes = Lifetimes(graph, context.dependences(graph))
        self._accesses: dict[Op, list[SharedAccess]] = {op: [] for op in buffers}
        for access in shared_accesses(graph):
            self._accesses[access.buffer].append(access)
        uniformity = Uniformity(graph)
        self._apart = [
            {op for a in rows for op in a.around if not uniformity.together(op)}
            for rows in self._accesses.values()
        ]

    def place(self, *, within_loops: bool) -> tuple[list[int], int]:
        """Offsets, and the bytes that they reach up to."""
        blocks = [
            self._block(size, rows, within_loops=within_loops)
            for size, rows in zip(self._sizes, self._accesses.values(), strict=True)
        ]
        offsets = first_fit(
            blocks,
            self._options.alignment,
            self._must_stay_apart,
            by_size=self._options.by_size is not False,
        )
        return offsets, peak(blocks, offsets)

    def _block(
        self, size: int, rows: list[SharedAccess], *, within_loops: bool
    ) -> Block:
        if not rows:
            return Block(size, -1, -1)
        return Block(size, *self._lifetimes.of(rows, within_loops=within_loops))

    def _must_stay_apart(self, one: int, other: int) -> bool:
        """Whether no barrier could stand between accesses of the two."""
        return not self._apart[one].isdisjoint(self._apart[other])
