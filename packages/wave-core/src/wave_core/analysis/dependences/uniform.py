"""Which regions all waves of a workgroup enter together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ops.control import Conditional, Iterate, SetSymbol

if TYPE_CHECKING:
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


class Uniformity:
    """Tells ops whose regions all waves enter alike from those they may not."""

    def __init__(self, graph: Graph) -> None:
        """Look at the symbols that the kernel sets."""
        self.own = {op.symbol for op in graph.walk() if isinstance(op, SetSymbol)}
        """The symbols that the kernel sets; they may differ from wave to wave."""

    def together(self, op: Op) -> bool:
        """Whether all waves of a workgroup enter the regions of ``op`` alike."""
        if isinstance(op, Iterate):
            return op.count is None or not self._differs(op.count)
        if isinstance(op, Conditional):
            return op.expr is not None and not self._differs(op.expr)
        return True

    def reached_together(self, region: Region) -> bool:
        """Whether all waves of a workgroup run the ops of ``region`` equally often."""
        return all(self.together(op) for op in region.around)

    def _differs(self, expr: Expr) -> bool:
        """Whether an expression may differ between the waves of a workgroup."""
        return any(s in self.own or s.name.startswith("$WV") for s in expr.free_symbols)
