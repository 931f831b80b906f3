"""Workgroups work on other tiles than their number says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.ir import ACCESS, LANDING, PLACEMENT, set_attributes
from wave_core.passes import Pass
from wave_core.symbols import Expr

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class ReorderWorkgroups(Pass):
    """Read workgroup coordinates as the reordering constraints say, everywhere.

    The new order must permute the grid, which the launch checks; so what was proved
    about the old coordinates still holds.

    Example::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #ReorderingConstraint(new_expr = 3 - $WG0, workgroup_dim = 0)
            %a = argument parameter "a" : mem<M, global, f32>
        -   %x = read %a, [] : reg<M, f32>
        -       @access(coordinates = [16*$WG0 + $LANE % 16], registers = 1)
        -   write %x, %a, []
        -       @access(coordinates = [16*$WG0 + $LANE % 16], registers = 1,
        -       mask = $LANE < 16)
        +   %x = read %a, [] : reg<M, f32>
        +       @access(coordinates = [$LANE % 16 - 16*$WG0 + 48], registers = 1)
        +   write %x, %a, []
        +       @access(coordinates = [$LANE % 16 - 16*$WG0 + 48], registers = 1,
        +       mask = $LANE < 16)
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Substitute in accesses, placements and attributes."""
        geometry = context.geometry(graph)
        if not geometry.reorderings:
            return False
        for op in graph.walk():
            _reorder(graph, op, geometry)
        return True


def _reorder(graph: Graph, op: Op, geometry: Geometry) -> None:
    for kind in (ACCESS, LANDING):
        access = graph.facts.get(kind, op)
        if access is not None:
            mask = None if access.mask is None else geometry.reorder(access.mask)
            coordinates = tuple(geometry.reorder(c) for c in access.coordinates)
            row = replace(access, coordinates=coordinates, mask=mask)
            graph.facts.put(kind, op, row)
    placement = graph.facts.get(PLACEMENT, op)
    if placement is not None:
        origin = tuple((d, geometry.reorder(e)) for d, e in placement.origin)
        graph.facts.put(PLACEMENT, op, replace(placement, origin=origin))
    changed = {
        name: geometry.reorder(value)
        for name, value in op.attributes.items()
        if isinstance(value, Expr)
    }
    if changed:
        set_attributes(op, **changed)
