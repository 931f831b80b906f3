"""Buffers whose tiles matrix instructions read get an order that these know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.effects import touches
from wave_core.analysis.operands import (
    order_of,
    row_of_product,
    takes_shared,
    tiles_by_buffer,
)
from wave_core.analysis.runs import contiguous_run
from wave_core.builtin.legalize.accesses import cut_access
from wave_core.constraints.machine import REGISTER
from wave_core.ir import ACCESS, Access, region_of
from wave_core.ir.rewrite import redeclare
from wave_core.ops.memory import Read, Write
from wave_core.passes import Pass
from wave_core.symbols import constant, xor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ir import Graph
    from wave_core.ops.matrix import SharedTile
    from wave_core.ops.memory import Allocate
    from wave_core.passes import PassContext
    from wave_core.symbols import Facts
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
                row = row_of_product(next(iter(tiles.values())), context.target)
                order = order_of(buffer, row)
                assert order is not None, "tiles are made of buffers that have one"
                apply_order(buffer, list(tiles), order, known)
                changed = True
        return changed


def apply_order(
    buffer: Allocate,
    tiles: Sequence[SharedTile],
    order: BufferLayout,
    known: RegionFacts,
) -> None:
    """Give a buffer an order, and its tiles, reads and writes the places that follow.

    Copies to LDS follow it already.
    """
    graph = region_of(buffer).graph
    moving: list[Read | Write | SharedTile] = [*tiles]
    for op in list(graph.walk()):
        if isinstance(op, Read | Write) and touches(op, buffer):
            moving += _in_chunks(graph, op, order, known)
    for op in moving:
        row = graph.facts.known(ACCESS, op)
        facts = known.facts(region_of(op), row.registers)
        graph.facts.put(ACCESS, op, ordered(row, buffer, order, facts))
    redeclare(buffer, layout=order)


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
    *outer, inner = row.coordinates
    number = constant(0)
    for place, extent in zip(outer, shape, strict=False):
        number = number * extent + place
    key = facts.simplify(number // order.step % order.ways)
    run = contiguous_run(row)
    side_by_side = row.registers > 1 and run == row.registers
    start = inner.subs({REGISTER: constant(0)}) if side_by_side else inner
    moved = xor(facts.simplify(start // size), key) * size
    moved = moved + facts.simplify(start % size)
    last = moved + REGISTER if side_by_side else moved
    return Access((*outer, last), row.registers, row.mask)
