"""Packs the buffers of LDS by when they are needed, first fit; `PackSharedMemory`."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.analysis.dependences.storage import (
    buffers_of,
    lds_bytes,
    static_bytes,
)
from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.ir import set_attributes
from wave_core.ops.control import Iterate, Loop, While
from wave_core.ops.sync import SharedMemoryBarrierSignal, SharedMemoryBarrierWait
from wave_core.ops.traits import EffectKind
from wave_core.passes import Pass, option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.analysis.dependences.footprint import Footprint
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Allocate
    from wave_core.passes import PassContext


@dataclass(frozen=True, slots=True)
class Block:
    """Something that needs ``size`` units from time ``first`` to ``last``, both in.

    It starts at a multiple of ``alignment``.
    """

    size: int
    first: int
    last: int
    alignment: int = 1

    def overlaps(self, other: Block) -> bool:
        """Whether both are needed at some time."""
        return self.first <= other.last and other.first <= self.last


def first_fit(
    blocks: Sequence[Block],
    alignment: int = 1,
    apart: Callable[[int, int], bool] | None = None,
    *,
    by_size: bool = True,
) -> list[int]:
    """An offset for each block; blocks needed at one time do not overlap.

    Large blocks come first, equal ones in the order given, as all of them without
    ``by_size``. Each goes to the lowest multiple of ``alignment``, and of its own,
    where no placed block is in the way; ``apart`` names further pairs, by position,
    that must not overlap.
    """
    offsets: dict[int, int] = {}
    order = sorted(range(len(blocks)), key=lambda i: -blocks[i].size * by_size)
    for position in order:
        block = blocks[position]
        in_the_way = sorted(
            (offset, offset + blocks[other].size)
            for other, offset in offsets.items()
            if block.overlaps(blocks[other])
            or (apart is not None and apart(position, other))
        )
        unit = lcm(alignment, block.alignment)
        offsets[position] = _lowest(block.size, in_the_way, unit)
    return [offsets[i] for i in range(len(blocks))]


def _lowest(size: int, in_the_way: Sequence[tuple[int, int]], alignment: int) -> int:
    """The lowest free offset; taken ranges come sorted."""
    offset = 0
    for start, end in in_the_way:
        if offset + size <= start:
            break
        offset = max(offset, -(-end // alignment) * alignment)
    return offset


def peak(blocks: Sequence[Block], offsets: Sequence[int]) -> int:
    """Units that all blocks reach up to."""
    ends = [o + b.size for o, b in zip(offsets, blocks, strict=True)]
    return max(ends, default=0)


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
        return len(buffers_of(graph)) > 1

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Set the offsets."""
        buffers = buffers_of(graph)
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
        layout = rows[0].buffer.layout
        unit = 1 if layout is None else layout.alignment
        if not rows[0].buffer.guarded:
            return Block(size, 0, self._lifetimes.end, unit)
        first, last = self._lifetimes.of(rows, within_loops=within_loops)
        return Block(size, first, last, unit)

    def _must_stay_apart(self, one: int, other: int) -> bool:
        """Whether no barrier could stand between accesses of the two."""
        return not self._apart[one].isdisjoint(self._apart[other])


class Lifetimes:
    """Spans of time, counted in ops of the graph in program order."""

    def __init__(self, graph: Graph, dependences: Dependences) -> None:
        self._dependences = dependences
        self._position = {op: i for i, op in enumerate(graph.walk())}
        self._end: dict[Op, int] = {}
        self.end = _note_ends(graph.body, self._position, self._end)

    def of(
        self, accesses: Sequence[SharedAccess], *, within_loops: bool
    ) -> tuple[int, int]:
        """First and last op between which the buffer of these accesses is needed.

        A loop counts as a whole, unless (with ``within_loops``) each of its iterations
        writes all that it reads before it reads it.
        """
        places = [self._position[a.op] for a in accesses]
        first, last = min(places), max(places)
        around = dict.fromkeys(op for a in accesses for op in a.around)
        # Inner loops first: what an outer one needs depends on them.
        for loop in reversed(around):
            if not isinstance(loop, Iterate | While):
                continue
            start, end = self._position[loop], self._end[loop]
            inside = start < first and last <= end
            if inside and within_loops and self._renewed(accesses, loop):
                continue
            first, last = min(first, start), max(last, end)
        return first, last

    def _renewed(self, accesses: Sequence[SharedAccess], loop: Loop) -> bool:
        """Whether no iteration reads what another one wrote."""
        return all(
            self._written_before(access, accesses, loop)
            for access in accesses
            if access.kind is not EffectKind.WRITE
        )

    def _written_before(
        self, read: SharedAccess, accesses: Sequence[SharedAccess], loop: Loop
    ) -> bool:
        if read.asynchronous:
            return False
        wanted = self._dependences.footprint(read)
        missing = wanted.touched.any(axis=0)
        for write in accesses:
            if not write.writes or write.asynchronous or write.order >= read.order:
                continue
            inner = write.around[write.around.index(loop) :]
            if all(op in read.around for op in inner):
                missing = missing & ~_covered(
                    self._dependences.footprint(write), wanted
                )
        return not missing.any()


def _covered(write: Footprint, read: Footprint) -> npt.NDArray[np.bool_]:
    """Columns of ``read`` that ``write`` writes for sure."""
    columns = read.owners.shape[1]
    found = np.zeros(columns, np.bool_)
    shift = read.base - write.base
    if not write.exact or write.unit != read.unit or not shift.is_constant:
        return found
    moved = read.low + shift.constant_value - write.low
    if moved % read.unit:
        return found
    written: npt.NDArray[np.bool_] = np.any(write.touched, axis=0)
    start = moved // read.unit
    first, last = max(0, -start), min(columns, len(written) - start)
    if first < last:
        found[first:last] = written[first + start : last + start]
    return found


def _note_ends(region: Region, position: dict[Op, int], end: dict[Op, int]) -> int:
    """Note the last position within each op with regions; the last of ``region``."""
    last = 0
    for op in region.ops:
        last = position[op]
        for nested in op.regions:
            last = end[op] = _note_ends(nested, position, end)
    return last
