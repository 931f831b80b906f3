"""The pass that removes what nothing uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import eliminate_dead_code
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class EliminateDeadCode(Pass):
    """Removes ops whose values nobody needs.

    A loop carries only the values that its results or its effects need; captures
    that a region does not use go too. Writes, barriers, waits, symbols that are set,
    and volatile reads stay. Does nothing to a graph where everything is used.

    Example::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
            %x = read %a, [] : reg<M, f32>
        -   %y = exp2 %x : reg<M, f32>
            %z = neg %x : reg<M, f32>
            write %z, %b, []
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Sweep once; what a removed op used alone goes with it."""
        removed = eliminate_dead_code(graph)
        context.count("removed_ops", removed)
        return removed > 0
