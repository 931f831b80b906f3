"""The pass that unrolls wave-level ops to pieces of instruction size."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from wave_core.backends.lowering import rules_of
from wave_core.builtin.expand import (
    access,
    atomic,
    control,
    exchange,
    matrix,
    scan,
    sort,
    values,
)
from wave_core.builtin.expand.expander import Expander
from wave_core.builtin.expand.meetings import (
    check_meetings,
    check_scans,
    check_shuffles,
    warn_of_waiting,
)
from wave_core.diagnostics import user_error
from wave_core.ir import PLACEMENT
from wave_core.passes import Pass
from wave_core.passes.tile_rules import EXPANSION, table_of

if TYPE_CHECKING:
    from wave_core.backends.lowering import LoweringTable
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext

MOST_PIECES = 1 << 15
"""Pieces of all values of a kernel; these take ten seconds to compile."""


@dataclass(frozen=True)
class ExpandTiles(Pass):
    """Replace every wave-level op by one op for each piece of its tile.

    Needs placements. Afterwards every register value is one vector in each lane,
    every access has coordinates and a mask, and permutations, broadcasts and index
    ops are gone. Elements that do not exist are masked at accesses, reductions and
    contractions; a mask that is proved true is left out.

    Example::

          kernel "k" target "generic" {
            bind M = 300
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `128`,
                workgroup_dim = 0)
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
        -   %x = read %a, [] : reg<M, f32>
        -       @placement(layout = #layout(64x1 {M: (lane/1%64)}), steps = [["M", 2,
        -       64]])
        -   write %x, %b, []
        +   %0 = read %a, [] {shape = [M]} : reg<M, f32>
        +       @access(coordinates = [$LANE + 128*$WG0], registers = 1,
        +       mask = $LANE + 128*$WG0 < 300)
        +       @placement(layout = #layout(64x1 {M: (lane/1%64)}), origin = [["M",
        +       128*$WG0]])
        +   %1 = read %a, [] {shape = [M]} : reg<M, f32>
        +       @access(coordinates = [$LANE + 128*$WG0 + 64], registers = 1,
        +       mask = $LANE + 128*$WG0 < 236)
        +       @placement(layout = #layout(64x1 {M: (lane/1%64)}), origin = [["M",
        +       128*$WG0 + 64]])
        +   write %0, %b, []
        +       @access(coordinates = [$LANE + 128*$WG0], registers = 1,
        +       mask = $LANE + 128*$WG0 < 300)
        +   write %1, %b, []
        +       @access(coordinates = [$LANE + 128*$WG0 + 64], registers = 1,
        +       mask = $LANE + 128*$WG0 < 236)
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Build the expanded body and put it in place of the old one."""
        _check_pieces(graph)
        geometry = context.geometry(graph)
        check_shuffles(graph, geometry.lanes)
        old_facts = graph.facts
        body = Expander(graph, geometry, context.target, expansion_table(context)).run()
        for region_op in graph.walk():
            old_facts.erased(region_op)
        for parameter in graph.parameters:
            old_facts.erased(parameter)
        graph.body = body
        check_meetings(graph)
        check_scans(graph, geometry)
        warn_of_waiting(graph, geometry, context.target, context.collector)
        return True


def _check_pieces(graph: Graph) -> None:
    """See that the body will not be too large for any compiler.

    Raises:
        UserError: WV0328 at the value with the most pieces.
    """
    pieces: dict[Op, int] = {}
    for op in graph.walk():
        placement = graph.facts.get(PLACEMENT, op)
        if placement is not None:
            pieces[op] = prod(count for _, count, _ in placement.steps)
    total = sum(pieces.values())
    if total <= MOST_PIECES:
        return
    worst = max(pieces, key=lambda op: pieces[op])
    raise user_error(
        "WV0328",
        f"the tiles of a wave are cut into {total} pieces, and {MOST_PIECES} are the"
        " most",
        at=worst.location,
        label=f"{pieces[worst]} of them",
        help="use smaller tiles, or a loop over a large dimension",
    )


def expansion_table(context: PassContext) -> LoweringTable:
    """How each class of ops expands; a class without a rule takes its base's."""
    modules = (access, atomic, control, exchange, matrix, scan, sort, values)
    own = [rule for module in modules for rule in rules_of(module)]
    return table_of(EXPANSION, own, context.tile_rules)
