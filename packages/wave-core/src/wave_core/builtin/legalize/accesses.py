"""Accesses become instructions: one for each run of consecutive elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.analysis.runs import contiguous_run
from wave_core.builtin.expand.access import is_never
from wave_core.constraints.machine import REGISTER
from wave_core.ir import (
    ACCESS,
    PLACEMENT,
    Access,
    Placement,
    erase,
    insert_before,
    region_of,
    replace_uses,
)
from wave_core.ops.constant import Splat
from wave_core.ops.memory import Read, Write
from wave_core.ops.shape import Assemble
from wave_core.passes import Pass
from wave_core.symbols import Layout, constant

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.targets import Target


@dataclass(frozen=True)
class SplitAccesses(Pass):
    """Cut accesses whose elements do not lie side by side, or that are too wide.

    Needs expanded tiles. An access stays whole if consecutive registers are proved
    to touch consecutive elements of the innermost dimension and all of them fit
    the target's widest access; else it is cut into the longest equal runs.

    Example::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<M, N, global, f32>
            %b = argument parameter "b" : mem<N, M, global, f32>
            %x = read %a, [] : reg<M, N, f32>
                @access(coordinates = [$LANE, $REG], registers = 2)
                @placement(layout = #layout(64x2 {M: (lane/1%64), N: (reg/1%2)}))
        -   write %x, %b, [] @access(coordinates = [$REG, $LANE], registers = 2)
        +   %0 = assemble [%x] {picks = [[0, 0]], shape = [M, N]} : reg<M, N, f32>
        +       @placement(layout = #layout(64x1 {M: (lane/1%64), N: 0}))
        +   write %0, %b, [] @access(coordinates = [`0`, $LANE], registers = 1)
        +   %1 = assemble [%x] {picks = [[0, 1]], shape = [M, N]} : reg<M, N, f32>
        +       @placement(layout = #layout(64x1 {M: (lane/1%64), N: 0}))
        +   write %1, %b, [] @access(coordinates = [`1`, $LANE], registers = 1)
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Cut the accesses of ``graph``."""
        changed = False
        for op in list(graph.walk()):
            if isinstance(op, Read | Write):
                changed |= _split(graph, op, context.target)
        return changed


def _split(graph: Graph, op: Read | Write, target: Target) -> bool:
    access = graph.facts.get(ACCESS, op)
    assert access is not None, "expansion gives every access coordinates"
    value = op if isinstance(op, Read) else op.value
    bits = value.register_type.dtype.bits
    widest = max(1, target.memory.max_access_bits // bits)
    run = contiguous_run(access)
    while run > widest:
        run //= 2
    if run == access.registers:
        return False
    cut_access(graph, op, run)
    return True


def cut_access(graph: Graph, op: Read | Write, run: int) -> list[Read | Write]:
    """Replace an access by those of ``run`` registers each, and give these."""
    access = graph.facts.known(ACCESS, op)
    starts = range(0, access.registers, run)
    if isinstance(op, Read):
        parts = _split_read(graph, op, access, starts, run)
    else:
        parts = _split_write(graph, op, access, starts, run)
    erase(op)
    return parts


def _slice(access: Access, start: int, run: int) -> Access:
    """Registers ``start`` to ``start + run`` of an access."""
    place = constant(start) if run == 1 else REGISTER + start
    cut = access.mapped(lambda expr: expr.subs({REGISTER: place}))
    return replace(cut, registers=run)


def _part_row(row: Placement, start: int, run: int) -> Placement:
    """The placement of registers ``start`` to ``start + run`` of a value.

    The elements of the part are described by lanes only where they cannot be
    described by digits: a part is glued together again at once.
    """
    layout = row.layout
    kept = {dim: list(layout.lane_digits(dim)) for dim in layout.dims}
    origin = tuple(
        (dim, value + layout.offset(dim, 0, start)) for dim, value in row.origin
    )
    return Placement(Layout.make(layout.lanes, run, kept), (), origin)


def _split_read(
    graph: Graph, op: Read, access: Access, starts: range, run: int
) -> list[Read | Write]:
    row = graph.facts.get(PLACEMENT, op)
    assert row is not None, "expansion places every value"
    kind = op.register_type
    parts: list[Op] = []
    for start in starts:
        cut = _slice(access, start, run)
        if is_never(cut.mask):
            part = insert_before(op, Splat(kind.shape, kind.dtype, 0))
        else:
            indices = _indices(op, start, run)
            part = Read(op.memory, indices, op.mapping, kind.shape, flags=op.flags)
            insert_before(op, part)
            graph.facts.put(ACCESS, part, cut)
        part.tags = op.tags
        graph.facts.put(PLACEMENT, part, _part_row(row, start, run))
        parts.append(part)
    picks = tuple((r // run, r % run) for r in range(access.registers))
    whole = insert_before(op, Assemble(tuple(parts), picks, kind.shape))
    whole.tags = op.tags
    graph.facts.put(PLACEMENT, whole, row)
    replace_uses(op, whole)
    return [part for part in parts if isinstance(part, Read)]


def _split_write(
    graph: Graph, op: Write, access: Access, starts: range, run: int
) -> list[Read | Write]:
    row = graph.facts.get(PLACEMENT, op.value)
    assert row is not None, "expansion places every value"
    parts: list[Read | Write] = []
    for start in starts:
        cut = _slice(access, start, run)
        if is_never(cut.mask):
            continue
        part = _part(op, op.value, row, start, run)
        indices = _indices(op, start, run)
        write = Write(part, op.memory, indices, op.mapping, flags=op.flags)
        write.tags = op.tags
        insert_before(op, write)
        graph.facts.put(ACCESS, write, cut)
        parts.append(write)
    return parts


def _indices(op: Read | Write, start: int, run: int) -> tuple[Op, ...]:
    """The index registers that go with a part of the access."""
    placements = region_of(op).graph.facts.table(PLACEMENT)
    rows = [(value, placements.get(value.ident)) for value in op.indices]
    return tuple(
        value
        if row is None or row.layout.registers == 1
        else _part(op, value, row, start, run)
        for value, row in rows
    )


def _part(user: Op, value: Op, row: Placement, start: int, run: int) -> Op:
    """Registers ``start`` to ``start + run`` of a value, before ``user``."""
    picks = tuple((0, start + register) for register in range(run))
    part = Assemble((value,), picks, value.register_type.shape)
    insert_before(user, part)
    region_of(user).graph.facts.put(PLACEMENT, part, _part_row(row, start, run))
    return part
