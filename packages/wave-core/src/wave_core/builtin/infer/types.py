"""Types are checked once more, now that symbols and loops are settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class InferTypes(Pass):
    """Infer the type of every op from its operands again.

    Tracing has inferred them already, at the user's line; this settles the types
    that canonicalization changed and those of graphs that were parsed.

    Example::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<M, N, global, f32>
            %x = read %a, [] : reg<M, N, f32>
        -   %y = sub %x, %x : reg<M, f16>
        -   %z = exp2 %y : reg<M, f16>
        +   %y = sub %x, %x : reg<M, N, f32>
        +   %z = exp2 %y : reg<M, N, f32>
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:  # noqa: ARG002
        """Infer in program order."""
        changed = False
        for op in graph.walk():
            inferred = op.infer()
            if inferred != op.type:
                op.type = inferred
                changed = True
        return changed
