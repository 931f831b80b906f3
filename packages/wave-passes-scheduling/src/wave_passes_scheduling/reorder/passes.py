"""The passes that reorder loops and let waves run a barrier apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops.control import Iterate
from wave_core.passes import Pass, option
from wave_core.passes.selection import unknown_name
from wave_passes_scheduling.loops.body import is_innermost
from wave_passes_scheduling.reorder.groups import place_groups
from wave_passes_scheduling.reorder.pingpong import ping_pong
from wave_passes_scheduling.reorder.refusal import ReorderError
from wave_passes_scheduling.reorder.stagger import TAG, stagger

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext

ORDERS = ("off", "pingpong")
"""What `ReorderLoops` can do."""


@dataclass(frozen=True)
class ReorderLoops(Pass):
    """Bring the bodies of innermost loops into another order.

    With ``pingpong`` memory and matrix work stand in clusters of their own, between
    barriers, so that one half of the waves can do the one while the other half does
    the other. With ``groups`` the order that a body has is told to the code generator
    as groups of instructions. A body for which the order cannot be proved stays as it
    is, and a warning names the dependence.
    """

    order: str = option("off", "off, or pingpong: halves of the waves alternate")
    clusters: int | None = option(
        None, "pairs of a memory and a matrix cluster; by default what fits"
    )
    groups: bool = option(
        False, "scheduling-group barriers that state the order of the body"
    )

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Reorder, then state the order.

        Raises:
            UserError: WV0801 for an unknown order, WV0804 for less than one cluster.
        """
        self._check()
        changed = False
        for loop in _innermost(graph):
            if self.order != "off":
                changed |= self._reorder(graph, loop, context)
            if self.groups:
                count = place_groups(graph, loop, context.target)
                context.count("scheduling_groups", count)
                changed |= count > 0
        return changed

    def _check(self) -> None:
        if self.order not in ORDERS:
            raise unknown_name("order of loops", self.order, ORDERS)
        if self.clusters is not None and self.clusters < 1:
            raise user_error(
                "WV0804",
                f"option `clusters` of `{self.pass_name()}` cannot be"
                f" `{self.clusters}`",
                help="it takes a number from 1 on",
            )

    def _reorder(self, graph: Graph, loop: Iterate, context: PassContext) -> bool:
        try:
            count = ping_pong(graph, loop, context.dependences(graph), self.clusters)
        except ReorderError as error:
            _left(loop, "reordered", error, context)
            return False
        context.count("reordered_loops")
        context.count("clusters", 2 * count)
        return True


@dataclass(frozen=True)
class StaggerWaves(Pass):
    """Let halves of the waves run marked loops a barrier apart.

    Runs once all barriers stand. What the waves of one half read and write is proved
    to be ordered with the other half's; where that fails, all waves keep running the
    loop together, and a warning says why.
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Prove, and insert the barriers of the halves."""
        changed = False
        for loop in _innermost(graph):
            if TAG not in loop.tags:
                continue
            try:
                stagger(graph, loop, context.dependences(graph))
            except ReorderError as error:
                _left(loop, "staggered", error, context)
                continue
            context.count("staggered_loops")
            changed = True
        return changed


def _innermost(graph: Graph) -> list[Iterate]:
    return [op for op in graph.walk() if isinstance(op, Iterate) and is_innermost(op)]


def _left(loop: Iterate, what: str, why: Exception, context: PassContext) -> None:
    """Say why a loop stays as it is."""
    context.count("loops_left")
    context.collector.warn(
        "WV0506",
        f"the loop over {loop.axis} is not {what}: {why}",
        at=loop.location,
        label="this loop",
    )
