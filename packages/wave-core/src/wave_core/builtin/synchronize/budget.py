"""LDS buffers must fit the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.storage import (
    buffers_of,
    lds_bytes,
    static_bytes,
)
from wave_core.diagnostics import user_error
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class CheckLdsBudget(Pass):
    """Refuse a kernel whose LDS buffers do not fit, with the numbers.

    Needs expanded tiles: their allocations are static. Changes nothing.

    Example::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<M, global, f32>
            %t = allocate {shape = [M], distributed_shape = [`64`], dtype = !f32} :
                mem<M, shared, f32, physical[64]>
            %x = read %a, [] : reg<M, f32> @access(coordinates = [$LANE], registers = 1)
            write %x, %t, [] @access(coordinates = [$LANE], registers = 1)
            %y = read %t, [] : reg<M, f32>
                @access(coordinates = [63 - $LANE], registers = 1)
            write %y, %a, [] @access(coordinates = [$LANE], registers = 1)
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Add up the buffers."""
        buffers = buffers_of(graph)
        sizes = [(static_bytes(op, graph.bindings), op) for op in buffers]
        used = lds_bytes(buffers, graph.bindings)
        budget = context.target.memory.lds_bytes
        context.count("lds_bytes", used)
        if used > budget:
            largest = sorted(sizes, key=lambda row: (-row[0], row[1].ident))
            raise user_error(
                "WV0406",
                f"the kernel needs {used} bytes of LDS, target "
                f"`{context.target.name}` has {budget}",
                at=largest[0][1].location,
                label=f"the largest buffer: {largest[0][0]} bytes",
                secondary=[(op.location, f"{size} bytes") for size, op in largest[1:4]],
                help=("use smaller tiles", "let buffers share memory"),
                needed=used,
                limit=budget,
            )
        return False
