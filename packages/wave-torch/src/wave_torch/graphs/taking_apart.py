"""Activations that no kernel took, as the ops that Inductor makes of them.

Inductor has its decompositions applied before it sees a graph. Ours are looked for in
the graph first, by their names.
"""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from torch.fx.experimental.proxy_tensor import make_fx

from wave_torch.graphs.nodes import arguments_of, fake_mode, value_of
from wave_torch.graphs.products import ACTIVATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import fx


def take_apart(graph: fx.Graph, how: Mapping[Any, Callable[..., Any]]) -> None:
    """Write the ops of activations in their place, where there is a decomposition."""
    for node in list(graph.nodes):
        if node.target in ACTIVATIONS and node.target in how:
            _inline(node, how)


def _inline(node: fx.Node, how: Mapping[Any, Callable[..., Any]]) -> None:
    operator: Any = node.target
    (x,) = arguments_of(node)
    with fake_mode(node):
        trace = make_fx(partial(operator, **node.kwargs), dict(how))
        ops = trace(value_of(x)).graph
    (given,) = ops.find_nodes(op="placeholder")
    with node.graph.inserting_before(node):
        found: Any = node.graph.graph_copy(ops, {given: x})
    node.replace_all_uses_with(found)
    node.graph.erase_node(node)
