"""Strongly connected components: the recurrences of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from wave_passes_scheduling.problem import LoopProblem


def components(problem: LoopProblem) -> list[list[int]]:
    """The strongly connected components, sources first; tasks ascend in each.

    Components that could stand in either order come by their smallest task, so the
    result depends on nothing but the problem.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(problem.size))
    graph.add_edges_from((d.source, d.target) for d in problem.dependences)
    folded = nx.condensation(graph)
    members = {c: sorted(folded.nodes[c]["members"]) for c in folded.nodes}

    def first(component: int) -> int:
        return members[component][0]

    order = nx.lexicographical_topological_sort(folded, key=first)
    return [members[c] for c in order]
