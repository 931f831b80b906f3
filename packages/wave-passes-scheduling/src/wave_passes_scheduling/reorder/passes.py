"""The passes that reorder loops and let waves run a barrier apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.passes import Pass, option
from wave_core.passes.selection import unknown_name
from wave_passes_scheduling.loops.analysis import innermost_loops
from wave_passes_scheduling.rebuild.guard import FEW
from wave_passes_scheduling.reorder.groups import place_groups
from wave_passes_scheduling.reorder.pingpong import ping_pong
from wave_passes_scheduling.reorder.stagger import TAG, ReorderError, stagger
from wave_passes_scheduling.replacing import leave_loop

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.ops.control import Iterate
    from wave_core.passes import PassContext

ORDERS = ("off", "pingpong")
"""Orders that `ReorderLoops` knows."""


@dataclass(frozen=True)
class ReorderLoops(Pass):
    """Bring the bodies of innermost loops into another order.

    With ``pingpong`` memory and matrix work stand in clusters of their own, between
    barriers, so that one half of the waves can do the one while the other half does
    the other. With ``groups`` the order that a body has is told to the code generator
    as groups of instructions. A body for which the order cannot be proved stays as it
    is, and a warning names the dependence.

    Example, as `reorder-loops{groups=true}`::

          kernel "k" target "gfx942" {
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
            %l = iterate [], [%a, %b] {axis = N, induction = $IV:N, count = `4`} body {
              %m = argument capture "a" : mem<M, global, f32>
              %n = argument capture "b" : mem<M, global, f32>
              %x = read %m, [] : reg<M, f32>
                  @access(coordinates = [64*$IV:N + $LANE], registers = 1)
              write %x, %n, [] @access(coordinates = [64*$IV:N + $LANE], registers = 1)
        +     scheduling_group_barrier {instructions = [["read_global", 1],
        +         ["write_global", 1]]}
              yield []
            }
            yield []
          }
    """

    order: str = option("off", "off, or pingpong: halves of the waves alternate")
    clusters: int | None = option(
        None,
        "pairs of a memory and a matrix cluster; by default what fits",
        at_least=1,
    )
    groups: bool = option(
        False, "scheduling-group barriers that state the order of the body"
    )

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Reorder, then state the order.

        Raises:
            UserError: WV0801 for an unknown order, WV0804 for less than one cluster.
        """
        if self.order not in ORDERS:
            raise unknown_name("order of loops", self.order, ORDERS)
        changed = self.order != "off" and self._reorder(graph, context)
        for loop in innermost_loops(graph):
            if self.groups:
                count = place_groups(graph, loop, context.target)
                context.count("scheduling_groups", count)
                changed |= count > 0
        return changed

    def _reorder(self, graph: Graph, context: PassContext) -> bool:
        """Reorder the loops; say of each that stays why it does."""
        loops = [loop for loop in innermost_loops(graph) if FEW not in loop.tags]
        left: list[tuple[Iterate, ReorderError]] = []
        for loop in loops:
            try:
                known, file = context.dependences(graph), context.target.registers
                count = ping_pong(graph, loop, known, self.clusters, file)
            except ReorderError as error:
                left.append((loop, error))
                continue
            context.count("reordered_loops")
            context.count("clusters", 2 * count)
        nothing = len(left) == len(loops)
        for loop, error in left:
            what, lost = f"reordered: {error}", "order" if nothing else ""
            leave_loop(loop, what, context, code="WV0506", lost=lost)
        return not nothing


@dataclass(frozen=True)
class StaggerWaves(Pass):
    """Let halves of the waves run marked loops a barrier apart.

    Runs once all barriers stand. What the waves of one half read and write is proved
    to be ordered with the other half's; where that fails, all waves keep running the
    loop together, and a warning says why.

    Example::

          kernel "k" target "gfx942" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `128`,
                workgroup_dim = 0)
            constraint #WaveConstraint(dim = M, tile_size = `64`)
            %a = argument parameter "a" : mem<M, global, f32>
        +   shared_memory_barrier
        +   %0 = conditional none, [], [] {expr = 1 <= $WV0} body {
        +     shared_memory_barrier
        +     yield []
        +   }
            %l = iterate [], [%a] {axis = N, induction = $IV:N,
                count = `4`} tags ["wave.stagger"] body {
              %m = argument capture "a" : mem<M, global, f32>
              shared_memory_barrier
              %x = read %m, [] : reg<M, f32>
                  @access(coordinates = [64*$IV:N + $LANE], registers = 1)
              shared_memory_barrier
              yield []
            }
        +   %1 = conditional none, [], [] {expr = $WV0 <= 0} body {
        +     shared_memory_barrier
        +     yield []
        +   }
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Prove, and insert the barriers of the halves."""
        changed = False
        for loop in innermost_loops(graph):
            if TAG not in loop.tags:
                continue
            try:
                stagger(graph, loop, context.dependences(graph))
            except ReorderError as error:
                leave_loop(loop, f"staggered: {error}", context, code="WV0506")
                continue
            context.count("staggered_loops")
            changed = True
        return changed
