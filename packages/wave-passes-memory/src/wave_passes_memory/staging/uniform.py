"""Which regions all waves of a workgroup enter together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ops.control import Conditional, Iterate, SetSymbol

if TYPE_CHECKING:
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


def own_symbols(graph: Graph) -> frozenset[Expr]:
    """The symbols that the kernel sets; they may differ from wave to wave."""
    return frozenset(op.symbol for op in graph.walk() if isinstance(op, SetSymbol))


def entered_together(region: Region, own: frozenset[Expr]) -> bool:
    """Whether all waves of a workgroup run the ops of ``region`` equally often."""
    return all(_uniform(parent, own) for parent in region.around)


def _uniform(op: Op, own: frozenset[Expr]) -> bool:
    if isinstance(op, Iterate):
        return op.count is None or not differs(op.count, own)
    if isinstance(op, Conditional):
        return op.expr is not None and not differs(op.expr, own)
    return False


def differs(expr: Expr, own: frozenset[Expr]) -> bool:
    """Whether an expression may differ between the waves of a workgroup."""
    return any(s in own or str(s).startswith("$WV") for s in expr.free_symbols)
