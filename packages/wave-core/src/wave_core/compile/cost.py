"""How long a simulation will take, counted before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ops.control import Iterate
from wave_core.symbols import as_expr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.ir.graph import Graph, Region
    from wave_core.symbols import Expr


def lane_steps(
    graph: Graph, grid: tuple[int, ...], threads: int, sizes: Mapping[Expr, int]
) -> int:
    """Ops that all lanes execute together: about the work of a simulation.

    Args:
        graph: The lowered kernel.
        grid: Workgroups on each axis.
        threads: Lanes of one workgroup.
        sizes: Values of all symbols of the launch.
    """
    total = threads * _ops(graph.body, sizes)
    for count in grid:
        total *= count
    return total


def _ops(region: Region, sizes: Mapping[Expr, int]) -> int:
    count = 0
    for op in region.ops:
        count += 1
        repeat = 1
        if isinstance(op, Iterate) and op.count is not None:
            repeat = _estimate(op.count, sizes)
        count += repeat * sum(_ops(nested, sizes) for nested in op.regions)
    return count


def _estimate(count: Expr, sizes: Mapping[Expr, int]) -> int:
    """A trip count; what depends on the wave is taken for the first one."""
    value = as_expr(count).subs(sizes)
    value = value.subs(dict.fromkeys(value.free_symbols, 0))
    return max(0, value.constant_value)
