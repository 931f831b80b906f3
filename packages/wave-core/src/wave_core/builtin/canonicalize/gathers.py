"""Copies of whole tiles to LDS become reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import LANDING, erase, insert_before
from wave_core.ops.memory import GatherToLDS, Read, Write
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class LowerGathers(Pass):
    """Replace ``gather_to_lds`` by a read of the tile and a write of it.

    That is what it means; a read and a write are done where they stand, so whatever
    waits for the copy waits long enough. A pass that knows how lanes share the tile
    makes direct copies of them again. Copies in lowered form stay.

    Example::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<M, global, f32>
            %t = allocate {shape = [M], distributed_shape = [`16`], dtype = !f32} :
                mem<M, shared, f32, physical[16]>
        -   gather_to_lds %a, %t, [] {elements_per_thread = 4}
        +   %0 = read %a, [] {shape = [M], elements_per_thread = 4} : reg<M, f32>
        +   write %0, %t, [] {elements_per_thread = 4}
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Lower the copies of ``graph``."""
        rows = graph.facts.table(LANDING)
        found = [
            op
            for op in graph.walk()
            if isinstance(op, GatherToLDS) and op.ident not in rows
        ]
        for op in found:
            _lower(op)
        context.count("gathers", len(found))
        return bool(found)


def _lower(op: GatherToLDS) -> None:
    shape = op.destination.memory_type.shape
    width = op.elements_per_thread
    read = Read(op.source, op.indices, op.mapping, shape, width)
    write = Write(read, op.destination, (), None, width)
    read.tags = write.tags = op.tags
    insert_before(op, read)
    insert_before(op, write)
    erase(op)
