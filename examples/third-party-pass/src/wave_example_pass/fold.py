"""The pass: a number negated twice is the number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import replace
from wave_core.ops.arithmetic import Neg
from wave_core.passes import Pass, option

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class FoldDoubleNegation(Pass):
    """Replace ``-(-x)`` by ``x``; exact for floats, and for integers that wrap.

    Needs: nothing. Changes: users of the outer negation use ``x``. The inner one
    stays until the dead code goes, since others may use it. Does nothing where the
    two negations are in different regions.

    Example::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<M, global, f32>
            %x = read %a, [] : reg<M, f32>
            %y = neg %x : reg<M, f32>
        -   %z = neg %y : reg<M, f32>
        -   write %z, %a, []
        +   write %x, %a, []
            yield []
          }
    """

    max_folds: int | None = option(None, "the most negations to fold; all by default")

    def should_run(self, graph: Graph) -> bool:
        """Whether anything is negated."""
        return any(isinstance(op, Neg) for op in graph.walk())

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Fold, first op first, so that any even number of negations folds."""
        folded = 0
        for op in list(graph.walk()):
            if folded == self.max_folds:
                break
            if isinstance(op, Neg) and isinstance(op.value, Neg):
                replace(op, op.value.value)
                folded += 1
        context.count("folded_negations", folded)
        return folded > 0
