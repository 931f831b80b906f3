"""Limits of the GPU, checked before code is generated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.capacity import check_lds, check_registers
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import user_error
from wave_core.symbols import constant, product

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.targets import Target

GRID_LIMITS = ((1 << 31) - 1, (1 << 16) - 1, (1 << 16) - 1)
"""Workgroups on each axis. Source: CUDA C++ Programming Guide, technical specifications
per compute capability."""


def check_limits(graph: Graph, target: Target) -> None:
    """Refuse a kernel that needs more than the GPU has.

    Raises:
        UserError: WV0605.
    """
    geometry = Geometry(graph.constraints, graph.bindings, target, graph.location)
    check_lds(graph, target, "shared memory")
    check_registers(graph, target, geometry.groups_in_step)
    _check_grid(graph, geometry)


def _check_grid(graph: Graph, geometry: Geometry) -> None:
    """Refuse a grid known at compile time that no launch can ask for."""
    given = [*geometry.grid, *[constant(1)] * 3]
    counts = (given[0], given[1], product([constant(1), *given[2:]]))
    for axis, (count, limit) in enumerate(zip(counts, GRID_LIMITS, strict=True)):
        if count.is_constant and count.constant_value > limit:
            needed = count.constant_value
            raise user_error(
                "WV0605",
                f"`{graph.name}` needs {needed} workgroups on axis {axis} of its grid;"
                f" a launch counts to {limit}",
                at=graph.location,
                help="use larger workgroup tiles, or put this dimension on axis 0",
                needed=needed,
                limit=limit,
            )
