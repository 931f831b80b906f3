"""The pass that lets each thread transpose in its registers what it copies to LDS.

It happens to buffers whose reads walk a dimension that is not the contiguous one, by
the cycles of the accesses of a wave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.operands import is_taken_across
from wave_core.analysis.runs import contiguous_run
from wave_core.constraints.machine import REGISTER
from wave_core.ir import ACCESS, Access, region_of
from wave_core.ir.rewrite import redeclare
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.passes import Pass, option
from wave_passes_memory.copies.find import copies
from wave_passes_memory.copies.gathered import Source
from wave_passes_memory.copies.lane_points import LanePoints
from wave_passes_memory.copies.prove import bare_readers, prove
from wave_passes_memory.layouts.choose import accesses_by_buffer
from wave_passes_memory.transposes.blocks import Blocks, emit_blocks
from wave_passes_memory.transposes.hardware import fetches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ir import Graph
    from wave_core.passes import PassContext
    from wave_core.targets import Target
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.prove import Box


def buffers_read_across(
    graph: Graph,
) -> dict[Allocate, tuple[int, list[Read | Write]]]:
    """Buffers stored by their own dimensions, with the one that their reads walk.

    It is given by its position, and is never the last; beside it all accesses.
    """
    found: dict[Allocate, tuple[int, list[Read | Write]]] = {}
    for buffer, accesses in accesses_by_buffer(graph).items():
        if all(type(op) in (Read, Write) and not op.indices for op in accesses):
            across = _across([op for op in accesses if isinstance(op, Read)])
            if across is not None and _plain(buffer):
                found[buffer] = across, accesses
    return found


def _across(reads: list[Read]) -> int | None:
    """The position of the dimension that all reads walk; ``None`` for the last."""
    found: set[int] = set()
    for read in reads:
        places = access_of(read).coordinates
        moving = [n for n, c in enumerate(places) if REGISTER in c.free_symbols]
        if len(moving) != 1 or moving[0] == len(places) - 1:
            return None
        found.update(moving)
    return found.pop() if len(found) == 1 else None


def access_of(op: Read) -> Access:
    """The row of an expanded read."""
    return region_of(op).graph.facts.known(ACCESS, op)


def _plain(buffer: Allocate) -> bool:
    """Whether rows have static length and nothing between them."""
    shape = buffer.memory_type.storage_shape
    return not buffer.padding and all(extent.is_constant for extent in shape)


LANES_A_CYCLE = 16
"""Addresses that vector memory takes in a cycle. Source: AMD CDNA3 ISA: a wave is
issued in quarters."""

BYTES_A_CYCLE = 64
"""Bytes that the first cache gives in a cycle. Source: AMD CDNA3 white paper."""


@dataclass(frozen=True)
class Costs:
    """Counts cycles of coalesced accesses without conflicts.

    Units: ``bits`` of an element; ``lanes`` of a wave; widths in elements of a lane.
    """

    target: Target
    bits: int
    lanes: int

    def loads(self, count: int, width: int) -> int:
        """Cycles of ``count`` loads from global memory."""
        lanes = self.lanes
        moved = lanes * width * self.bits // (8 * BYTES_A_CYCLE)
        return count * max(moved, lanes // LANES_A_CYCLE)

    def writes(self, count: int, width: int) -> int:
        """Cycles of ``count`` writes."""
        return count * self._cycles(width, reads=False)

    def reads(self, rows: Iterable[Access]) -> int:
        """Cycles of reads, cut where elements do not lie side by side."""
        most = max(1, self.target.memory.max_access_bits // self.bits)
        total = 0
        for row in rows:
            run = min(contiguous_run(row), most)
            total += row.registers // run * self._cycles(run, reads=True)
        return total

    def _cycles(self, width: int, *, reads: bool) -> int:
        size = width * self.bits // 8
        phases = self.target.memory.phases(size, reads=reads)
        if phases is None:
            return 1
        return len(phases.phases) * -(-self.lanes // phases.lanes)


@dataclass(frozen=True)
class TransposeInThreads(Pass):
    """Store a tile the way it is read where memory has it the other way.

    Needs expanded tiles. A buffer whose reads walk a dimension that is not the
    contiguous one, filled by a copy that is proved to move a whole box, is stored
    with that dimension last: each thread loads some rows, as wide as an access can
    be, and writes columns of them. Happens where loads, writes and reads then take
    fewer cycles, and where the target does not transpose for as little, nor has
    products that take the tile as memory has it.

    Example::

          kernel "k" target "gfx942" {
            bind K = 16
            bind N = 8
            constraint #HardwareConstraint(threads_per_wave = 64)
            %a = argument parameter "a" : mem<K, N, global, f16>
            %b = argument parameter "b" : mem<K, N, global, f16>
        -   %t = allocate {shape = [K, N], distributed_shape = [`16`, `8`],
        -       dtype = !f16} : mem<K, N, shared, f16, physical[16, 8]>
        -   %x = read %a, [] : reg<K, N, f16>
        -       @access(coordinates = [$LANE // 4, $REG + 2*($LANE % 4)], registers = 2)
        -       @placement(layout = #layout(64x2 {K: (lane/4%16), N:
        -       2*(lane/1%4) + (reg/1%2)}), origin = [["K", `0`], ["N", `0`]])
        -   write %x, %t, []
        -       @access(coordinates = [$LANE // 4, $REG + 2*($LANE % 4)], registers = 2)
        -   %y = read %t, [] : reg<K, N, f16>
        -       @access(coordinates = [$REG, $LANE % 8], registers = 16)
        +   %t = allocate {shape = [N, K], distributed_shape = [`8`, `16`],
        +       dtype = !f16} : mem<N, K, shared, f16, physical[8, 16]>
        +   %0 = read %a, [] {shape = [K, N]} : reg<K, N, f16>
        +       @access(coordinates = [2*($LANE // 8), $LANE % 8], registers = 1)
        +       @placement(layout = #layout(64x1 {K: 2*(lane/8%8), N: (lane/1%8)}),
        +       origin = [["K", `0`], ["N", `0`]])
        +   %1 = read %a, [] {shape = [K, N]} : reg<K, N, f16>
        +       @access(coordinates = [2*($LANE // 8) + 1, $LANE % 8], registers = 1)
        +       @placement(layout = #layout(64x1 {K: 2*(lane/8%8), N: (lane/1%8)}),
        +       origin = [["K", `1`], ["N", `0`]])
        +   %2 = assemble [%0, %1] {picks = [[0, 0], [1, 0]], shape = [K, N]} : reg<K,
        +       N, f16>
        +       @placement(layout = #layout(64x2 {K: 2*(lane/8%8) + (reg/1%2), N:
        +       (lane/1%8)}), origin = [["K", `0`], ["N", `0`]])
        +   write %2, %t, []
        +       @access(coordinates = [$LANE % 8, $REG + 2*($LANE // 8)], registers = 2)
        +   %y = read %t, [] {shape = [K, N]} : reg<K, N, f16>
        +       @access(coordinates = [$LANE % 8, $REG], registers = 16)
            write %y, %b, [] @access(coordinates = [$REG, $LANE % 8], registers = 16)
            yield []
          }
    """

    max_bits: int = option(
        0, "the widest access of one lane; 0 is the widest of the target", at_least=0
    )
    hardware: bool = option(
        True, "whether to leave to the target what it can transpose"
    )
    idle: bool = option(False, "whether half of the threads may idle for wider loads")

    def should_run(self, graph: Graph) -> bool:
        """There is a buffer to fill."""
        return any(isinstance(op, Allocate) for op in graph.body.ops)

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Transpose the buffers that become cheaper."""
        wanted = buffers_read_across(graph)
        if not wanted:
            return False
        known = context.region_facts(graph)
        points = LanePoints.of(known.geometry)
        changed = False
        for copy in copies(graph):
            if copy.buffer not in wanted:
                continue
            across, accesses = wanted[copy.buffer]
            reads = [op for op in accesses if isinstance(op, Read)]
            if not copy.members.issuperset(set(accesses).difference(reads)):
                continue
            if all(is_taken_across(op, context.target) for op in reads):
                context.count("transposes_left_to_products")
                continue
            box = prove(copy, points, known)
            if box is None:
                context.count("transposes_not_proved")
                continue
            job = _Transposition(copy, box, across, reads, known)
            changed |= job.run(self, points, context)
        return changed


class _Transposition:
    """Stores one buffer with another dimension last."""

    def __init__(
        self, copy: Copy, box: Box, across: int, reads: list[Read], known: RegionFacts
    ) -> None:
        self._copy = copy
        self._box = box
        self._reads = reads
        self._known = known
        first = copy.pairs[0][0]
        self._bits = copy.buffer.dtype.bits
        self._blocks = Blocks(
            box,
            across,
            known.geometry,
            Source(first, known),
            lambda registers: known.facts(copy.region, registers),
            self._bits,
        )

    def run(
        self, options: TransposeInThreads, points: LanePoints, context: PassContext
    ) -> bool:
        """Transpose the buffer if that is cheaper."""
        rows = self._rows(points)
        widest = options.max_bits or context.target.memory.max_access_bits
        shape = self._blocks.choose(widest, idle=options.idle)
        if shape is None or rows is None:
            return False
        rows = {read: self._transposed(row) for read, row in rows.items()}
        costs = Costs(context.target, self._bits, self._known.geometry.lanes)
        cost = costs.loads(shape.count * shape.rows, shape.width)
        cost += costs.writes(shape.count * shape.width, shape.rows)
        cost += costs.reads(rows.values())
        single, hardware = self._costs_as_it_is(costs, widest // self._bits)
        best = min(single, hardware) if options.hardware else single
        if cost >= best:
            return False
        emit_blocks(self._copy, list(self._blocks.blocks(shape)), self._known)
        self._store_across(rows)
        context.count("memory_cycles_before", single)
        context.count("memory_cycles", cost)
        context.count("transposed_buffers")
        return True

    def _rows(self, points: LanePoints) -> dict[Read, Access] | None:
        """The reads of a buffer that is filled with zeros too; ``None`` if some see."""
        rows = {read: access_of(read) for read in self._reads}
        if self._box.fills:
            return rows
        bare = bare_readers(self._copy, self._box, points, self._known)
        return None if bare is None else rows | bare

    def _transposed(self, row: Access) -> Access:
        places = tuple(row.coordinates[d] for d in self._blocks.order())
        return Access(places, row.registers, row.mask)

    def _costs_as_it_is(self, costs: Costs, widest: int) -> tuple[int, int]:
        """Cycles where single elements are read, and where the target transposes."""
        target: Target = costs.target
        threads = self._known.geometry.threads
        width = max(1, widest)
        while width > 1 and width * threads > self._box.elements:
            width //= 2
        count = -(-self._box.elements // (width * threads))
        copied = costs.loads(count, width) + costs.writes(count, width)
        single = copied + costs.reads(map(access_of, self._reads))
        found = [fetches(read, self._known, target) for read in self._reads]
        each = [fetch.access for parts in found if parts for fetch in parts]
        hardware = copied + costs.reads(each) if all(found) else single
        return single, hardware

    def _store_across(self, rows: dict[Read, Access]) -> None:
        """The dimension last in the buffer, and in all that is said about it."""
        buffer, order = self._copy.buffer, self._blocks.order()
        graph = self._copy.region.graph
        for read, row in rows.items():
            graph.facts.put(ACCESS, read, row)
            read.attributes |= {"shape": read.register_type.shape, "mapping": None}
        shape = tuple(buffer.shape[d] for d in order)
        extents = tuple(buffer.distributed_shape[d] for d in order)
        redeclare(buffer, shape=shape, distributed_shape=extents)
