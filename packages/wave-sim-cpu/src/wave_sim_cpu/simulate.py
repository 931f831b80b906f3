"""Runs a graph at the level that it has reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wave_core.passes import Fact
from wave_sim_cpu import lanes, logical
from wave_sim_cpu.options import Check, SimulationOptions

if TYPE_CHECKING:
    from wave_core.ir.graph import Graph
    from wave_core.symbols import Expr
    from wave_core.targets import Target
    from wave_sim_cpu.result import SimulationResult


def run(
    graph: Graph,
    arguments: Mapping[str, Any],
    symbols: Mapping[Expr, int],
    target: Target,
    options: SimulationOptions | None = None,
) -> SimulationResult:
    """Execute a graph as it is after any phase; see `lanes.run` and `logical.run`.

    Expanded graphs run on lanes, others on whole tiles. Races are looked for only
    once the graph is synchronized: before, the barriers are not there yet.
    """
    options = options or SimulationOptions()
    if Fact.EXPANDED not in graph.facts_present:
        return logical.run(graph, arguments, symbols, target, options)
    if Fact.SYNCHRONIZED not in graph.facts_present:
        kept = {check for check in Check if options.looks_for(check)}
        options = replace(options, checks=kept - {Check.RACES})
    return lanes.run(graph, arguments, symbols, target, options)
