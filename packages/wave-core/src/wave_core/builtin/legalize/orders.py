"""Buffers whose tiles matrix instructions read get an order that these know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.analysis.effects import touches
from wave_core.analysis.operands import (
    order_of_tile,
    takes_shared,
    tiles_by_buffer,
)
from wave_core.analysis.runs import contiguous_run
from wave_core.builtin.legalize.accesses import cut_access
from wave_core.constraints.machine import REGISTER
from wave_core.ir import ACCESS, BOX, LANDING, Access, Box, region_of, resolve
from wave_core.ir.rewrite import redeclare
from wave_core.ops.memory import GatherToLDS, Read, Write
from wave_core.passes import Pass
from wave_core.symbols import constant, xor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ir import Graph
    from wave_core.ops.matrix import SharedTile
    from wave_core.ops.memory import Allocate
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr, Facts
    from wave_core.types import BufferLayout


@dataclass(frozen=True)
class OrderMatrixOperands(Pass):
    """Store the buffers of shared tiles in an order that matrix instructions know.

    Needs accesses of one instruction each. Chunks of a row change places by the number
    of the row, in every access of the buffer; an access that may reach across chunks is
    cut into single elements first. Leaves buffers alone that have an order already.

    Example::

          kernel "k" target "generic128" {
            constraint #HardwareConstraint(threads_per_wave = 128)
        -   %b = allocate {shape = [N, K], distributed_shape = [`8`, `16`],
        -       dtype = !f16} : mem<N, K, shared, f16, physical[8, 16]>
        +   %b = allocate {shape = [N, K], distributed_shape = [`8`, `16`],
        +       dtype = !f16, layout = #BufferLayout(chunk = 16, step = 4, ways = 2,
        +       panel = 32)} : mem<N, K, shared, f16, physical[8, 16]>
            %x = register {shape = [M, K], dtype = !f16, value = 1.0} : reg<M, K, f16>
            %z = register {shape = [M, N], dtype = !f32, value = 0.0} : reg<M, N, f32>
        -   %y = shared_tile %b : reg<N, K, f16>
        -       @access(coordinates = [$LANE // 16, $LANE % 16], registers = 1)
        -       @box(origin = [`0`, `0`], extents = [8, 16])
        +   %y = shared_tile %b : reg<N, K, f16>
        +       @access(coordinates = [$LANE // 16, $LANE % 8 + 8*xor($LANE // 64,
        +       $LANE // 8 % 2)], registers = 1)
        +       @box(origin = [`0`, `0`], extents = [8, 16])
            %p = mma %x, %y, %z {mma_type = "F32_64x8x16_F16"} : reg<M, N, f32>
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Choose and apply the orders."""
        if not takes_shared(context.target):
            return False
        known = context.region_facts(graph)
        changed = False
        for buffer, tiles in tiles_by_buffer(graph).items():
            if buffer.layout is None:
                order = order_of_tile(*next(iter(tiles.items())), context.target)
                apply_order(buffer, list(tiles), order, known)
                changed = True
        return changed


def apply_order(
    buffer: Allocate,
    tiles: Sequence[SharedTile],
    order: BufferLayout,
    known: RegionFacts,
) -> None:
    """Give a buffer an order, and all that touches it the places that follow.

    Within a panel copies to LDS follow it already.
    """
    graph = region_of(buffer).graph
    moving: list[Read | Write | SharedTile] = [*tiles]
    for op in list(graph.walk()):
        if isinstance(op, Read | Write) and touches(op, buffer):
            moving += _in_chunks(graph, op, order, known)
    panels = Panels.of(buffer, order)
    if panels.count > 1:
        panels.apply(buffer, moving, known)
    for op in moving:
        row = graph.facts.known(ACCESS, op)
        facts = known.facts(region_of(op), row.registers)
        graph.facts.put(ACCESS, op, ordered(row, buffer, order, facts))
    redeclare(buffer, layout=order)


@dataclass(frozen=True)
class Panels:
    """How long rows of a buffer are cut.

    Attributes:
        count: Panels of a row; all rows of one are stored before those of the next.
        rows: How many rows the innermost two dimensions have.
        width: Elements of a row of a panel.
    """

    count: int
    rows: int
    width: int

    @classmethod
    def of(cls, buffer: Allocate, order: BufferLayout) -> Panels:
        """Those of a buffer that gets an order."""
        *_, rows, length = (e.constant_value for e in buffer.memory_type.storage_shape)
        width = order.panel // buffer.dtype.bytes
        return cls(length // width, rows, width)

    def apply(
        self,
        buffer: Allocate,
        accesses: Sequence[Read | Write | SharedTile],
        known: RegionFacts,
    ) -> None:
        """Cut the rows of a buffer, where nothing that is accessed spans two panels."""
        graph = region_of(buffer).graph
        copies = [op for op in graph.walk() if isinstance(op, GatherToLDS)]
        landing = [op for op in copies if resolve(op.destination) is buffer]
        for op in (*accesses, *landing):
            side = LANDING if isinstance(op, GatherToLDS) else ACCESS
            row, box = graph.facts.known(side, op), graph.facts.get(BOX, op)
            facts = known.facts(region_of(op), row.registers)
            graph.facts.put(side, op, self.cut(row, facts))
            if box is not None:
                graph.facts.put(BOX, op, self.cut_box(box, facts))
        *outer, rows, _ = buffer.distributed_shape
        extents = (*outer, rows * self.count, constant(self.width))
        redeclare(buffer, distributed_shape=extents)

    def cut(self, row: Access, facts: Facts) -> Access:
        """An access, once rows are cut."""
        *outer, last, _ = row.coordinates
        start, within = _run(row)
        panel = facts.simplify(start // self.width)
        inner = facts.simplify(start % self.width) + within
        return replace(row, coordinates=(*outer, last + panel * self.rows, inner))

    def cut_box(self, box: Box, facts: Facts) -> Box:
        """A box, once rows are cut; it is part of a panel, or whole ones."""
        *outer, last, inner = box.origin
        panel = facts.simplify(inner // self.width)
        first = facts.simplify(inner % self.width)
        count = max(1, box.extents[-1] // self.width)
        return Box(
            (*outer, last + panel * self.rows, first),
            (*box.extents[:-1], box.extents[-1] // count),
            count,
            self.rows if count > 1 else 0,
        )


def _run(row: Access) -> tuple[Expr, Expr]:
    """The place in a row of each element, or of the first of a run, and what follows.

    The sum of both is the place of each.
    """
    inner = row.coordinates[-1]
    if row.registers > 1 and contiguous_run(row) == row.registers:
        return inner.subs({REGISTER: constant(0)}), REGISTER
    return inner, constant(0)


def _in_chunks(
    graph: Graph, op: Read | Write, order: BufferLayout, known: RegionFacts
) -> list[Read | Write]:
    """The access, or single elements where it may reach across chunks."""
    row = graph.facts.known(ACCESS, op)
    width = row.registers
    size = order.chunk // op.memory.memory_type.dtype.bytes
    facts = known.facts(region_of(op), width)
    start = row.coordinates[-1].subs({REGISTER: constant(0)})
    within = contiguous_run(row) == width and size % width == 0
    if width == 1 or (within and facts.prove_divisible(start, width)):
        return [op]
    return cut_access(graph, op, 1)


def ordered(row: Access, buffer: Allocate, order: BufferLayout, facts: Facts) -> Access:
    """Where the elements of an access lie in a buffer with an order.

    What an access of several neighbours takes lies within a chunk.
    """
    shape = buffer.memory_type.storage_shape
    size = order.chunk // buffer.dtype.bytes
    *outer, _ = row.coordinates
    number = constant(0)
    for place, extent in zip(outer, shape, strict=False):
        number = number * extent + place
    key = facts.simplify(number // order.step % order.ways)
    start, within = _run(row)
    moved = xor(facts.simplify(start // size), key) * size
    moved = moved + facts.simplify(start % size) + within
    return Access((*outer, moved), row.registers, row.mask)
