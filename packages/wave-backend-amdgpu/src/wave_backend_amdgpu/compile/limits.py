"""Limits of the chip, checked before the compiler is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.capacity import check_lds, check_registers
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import user_error
from wave_core.symbols import constant, product

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.targets import Target

GRID_LIMIT = (1 << 32) - 1
"""Source: HSA runtime specification, kernel dispatch packet: grid sizes are 32 bits of
work-items; axes but the first have one work-item a workgroup here."""


def check_limits(graph: Graph, target: Target) -> Geometry:
    """Refuse a kernel that needs more LDS or registers than the chip has.

    Gives how its dimensions spread, which is looked at on the way.

    Raises:
        UserError: WV0605.
    """
    geometry = Geometry(graph.constraints, graph.bindings, target, graph.location)
    check_lds(graph, target)
    check_registers(graph, target, geometry.groups_in_step)
    check_grid(graph, geometry)
    return geometry


def check_grid(graph: Graph, geometry: Geometry) -> None:
    """Refuse a grid known at compile time that no launch can ask for.

    Raises:
        UserError: WV0605.
    """
    counts = [*geometry.grid, *[constant(1)] * 3]
    folded = product([constant(1), *geometry.grid[2:]])
    items = (counts[0] * geometry.threads, counts[1], folded)
    for axis, count in enumerate(items):
        if count.is_constant and count.constant_value > GRID_LIMIT:
            needed = count.constant_value
            what = "work-items" if axis == 0 else "workgroups"
            raise user_error(
                "WV0605",
                f"`{graph.name}` needs {needed} {what} on axis {axis} of its grid;"
                f" a launch counts to {GRID_LIMIT}",
                at=graph.location,
                help="use larger workgroup tiles, or spread the grid over its axes",
                needed=needed,
                limit=GRID_LIMIT,
            )
