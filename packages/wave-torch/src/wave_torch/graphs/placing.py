"""A graph with kernels in it, and the report of what became one."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from wave_torch.graphs.chains import fuse_chains
from wave_torch.graphs.convolutions import CONVOLUTIONS
from wave_torch.graphs.functions import FUNCTIONS
from wave_torch.graphs.gates import SWIGLU, gate_products
from wave_torch.graphs.groups import GROUPS
from wave_torch.graphs.in_place import write_in_place
from wave_torch.graphs.nodes import (
    KERNEL,
    UNSAFE_VIEW,
    Left,
    Rule,
    described,
    is_size,
    is_transformed,
    is_view,
    lay_as,
    lies_as,
    named,
    note_origin,
    origin,
    seen_through_views,
    value_of,
)
from wave_torch.graphs.products import ACTIVATIONS, MATMUL, PRODUCTS, finished
from wave_torch.graphs.rows import ROWS
from wave_torch.graphs.sums import SUMS
from wave_torch.graphs.taking_apart import take_apart
from wave_torch.report import EAGER, GRAPH, WAVE, GraphReport, Placement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ATEN = torch.ops.aten

RULES = {**CONVOLUTIONS, **GROUPS, **PRODUCTS, **ROWS}
"""Op of torch -> its rule: what is computed instead, written in front of it."""

KEPT = {*RULES, *ACTIVATIONS}
"""Ops that are looked for, and so not taken apart before."""

TRANSFORMED = "a transform of torch.func takes it apart"
"""Why a function in one stays: operators know no rules of transforms."""

NO_KERNEL = "no kernel does this"


def replace_functions(module: fx.GraphModule) -> GraphReport:
    """Put operators of ours where a model calls functions that have a kernel."""
    placements: list[Placement] = []
    for part in _parts(module):
        left = _replaced(part.graph, FUNCTIONS)
        every = _placements(part.graph, left, GRAPH)
        placements += [p for p in every if p.place == WAVE or p.detail != NO_KERNEL]
        part.recompile()
    return GraphReport("functions", tuple(placements))


def place(
    module: fx.GraphModule,
    phase: str,
    rest: str,
    decompositions: Mapping[Any, Callable[..., Any]],
) -> GraphReport:
    """Put kernels into a graph of ops; ``rest`` computes what has none.

    Inductor has ``decompositions`` for what it takes of it.
    """
    placements: list[Placement] = []
    for part in _parts(module):
        _drop_copies(part.graph)
        left = _replaced(part.graph, RULES)
        for node in [each for each in part.graph.nodes if each.target is MATMUL]:
            finished(node)
        gate_products(part.graph)
        if rest == EAGER:
            left |= _replaced(part.graph, SUMS)
            left = fuse_chains(part) | left
            _loosen_views(part.graph)
            write_in_place(part.graph)
        else:
            take_apart(part.graph, decompositions)
        placements += _placements(part.graph, left, rest)
        part.graph.lint()
        part.recompile()
    return GraphReport(phase, tuple(placements))


def _parts(module: fx.GraphModule) -> list[fx.GraphModule]:
    """The graph, and those that its nodes call."""
    return [each for each in module.modules() if isinstance(each, fx.GraphModule)]


def _replaced(graph: fx.Graph, rules: Mapping[Any, Rule]) -> dict[fx.Node, str]:
    """Apply the rules; whom they do not fit, and why."""
    left: dict[fx.Node, str] = {}
    for node in list(graph.nodes):
        rule = rules.get(node.target)
        if rule is None:
            continue
        found = Left(TRANSFORMED) if is_transformed(node) else rule(node)
        if isinstance(found, Left):
            left[node] = found.why
            continue
        if isinstance(found, tuple):
            for user in list(node.users):
                _replace(user, found[user.args[1]], node)
            graph.erase_node(node)
        else:
            _replace(node, found, node)
    return left


def _replace(node: fx.Node, found: fx.Node | None, op: fx.Node) -> None:
    """Let a node's readers read another one, which does the work of ``op``."""
    if found is not None:
        note_origin(seen_through_views(found), op)
        node.replace_all_uses_with(lay_as(found, node))
    node.graph.erase_node(node)


def _drop_copies(graph: fx.Graph) -> None:
    """Read what was copied instead of copies that nobody can tell from it.

    Graphs are functional: only what is given or returned is seen from outside. Dropout
    that does nothing leaves such copies, which would keep products from what follows.
    """
    for node in graph.nodes:
        if node.target is not ATEN.clone.default or node.kwargs:
            continue
        (read,) = node.all_input_nodes
        given = seen_through_views(read).op == "placeholder"
        same = lies_as(value_of(read), value_of(node))
        if same and not given and not _is_returned(node):
            node.replace_all_uses_with(read)
            graph.erase_node(node)


def _is_returned(node: fx.Node) -> bool:
    """Whether a result, or a view of it, is seen from outside."""
    return any(
        user.op == "output" or (is_view(user) and _is_returned(user))
        for user in node.users
    )


def _loosen_views(graph: fx.Graph) -> None:
    """Let views copy: results of kernels may lie in memory otherwise than expected."""
    for node in graph.nodes:
        if node.target in (ATEN.view.default, UNSAFE_VIEW):
            node.target = ATEN.reshape.default


def _placements(
    graph: fx.Graph, left: Mapping[fx.Node, str], rest: str
) -> Iterator[Placement]:
    """What computes each node: a kernel, or ``rest`` for a reason."""
    for node in graph.nodes:
        if node.op not in ("call_function", "call_module"):
            continue
        kernel = _kernel(node)
        if kernel:
            yield Placement(", ".join(origin(node)), described(node), WAVE, kernel)
        elif node in left or not (is_view(node) or is_size(node)):
            why = left.get(node, NO_KERNEL)
            yield Placement(named(node), described(node), rest, why)


def _kernel(node: fx.Node) -> str:
    """The kernel of a node, and what it does besides; empty where there is none."""
    if getattr(node.target, "namespace", "") != "wave":
        return node.meta.get(KERNEL, "")
    name = named(node).removeprefix("wave.")
    if node.target is SWIGLU:
        return f"{name} with {node.kwargs['activation']}"
    if node.target is not MATMUL:
        return name
    more = (node.kwargs.get(key) and key for key in ("bias", "activation", "residual"))
    words = [node.kwargs["activation"] if m == "activation" else m for m in more if m]
    return f"{name} with {', '.join(map(str, words))}" if words else name
