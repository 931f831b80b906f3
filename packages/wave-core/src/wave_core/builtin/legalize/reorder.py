"""Workgroups work on other tiles than their number says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import change_expressions
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph
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
            change_expressions(op, geometry.reorder)
        return True
