"""Halves of rows that models turn, for rotary embedding: ``cat((-b, a))`` of (a, b).

A kernel reads such rows in their new order, so that they are a step of a chain and not
two launches before it.
"""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.functions.arguments import FLOATS
from wave_torch.graphs.nodes import (
    arguments_of,
    bound,
    emit,
    note_origin,
    tensor_of,
    value_of,
)

if TYPE_CHECKING:
    from torch import fx

ATEN = torch.ops.aten


def turned(x: torch.Tensor) -> torch.Tensor:
    """The second half of each row, negated, and then the first."""
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def find_turned(graph: fx.Graph) -> None:
    """Let nodes that are `turned` of something say so."""
    found = False
    for node in graph.find_nodes(op="call_function", target=ATEN.cat.default):
        source = _source(node)
        if source is not None:
            made = emit(node, turned, source)
            note_origin(made, *node.all_input_nodes[:1], node)
            node.replace_all_uses_with(made)
            found = True
    if found:
        graph.eliminate_dead_code()


def spell_turned(graph: fx.Graph) -> None:
    """Write what has become a part of no kernel as torch's ops again."""
    for node in graph.find_nodes(op="call_function", target=turned):
        (x,) = arguments_of(node)
        half = value_of(x).shape[-1] // 2
        first = emit(node, ATEN.slice.Tensor, x, -1, 0, half)
        second = emit(node, ATEN.slice.Tensor, x, -1, half, 2 * half)
        parts = [emit(node, ATEN.neg.default, second), first]
        node.replace_all_uses_with(emit(node, ATEN.cat.default, parts, -1))
        graph.erase_node(node)


def _source(cat: fx.Node) -> fx.Node | None:
    """What the halves belong to that a node puts together in this way."""
    call = bound(cat, {"tensors": (), "dim": 0})
    value = tensor_of(cat)
    if value is None or value.dtype not in FLOATS or len(call["tensors"]) != 2:
        return None
    second, first = call["tensors"]
    if call["dim"] not in (-1, value.ndim - 1) or second.target is not ATEN.neg.default:
        return None
    x = _half_of(first, 0)
    return x if x is not None and x is _half_of(arguments_of(second)[0], 1) else None


def _half_of(node: fx.Node, which: int) -> fx.Node | None:
    """The tensor of whose rows a node is the first or the second half."""
    cut = _as_slice(node)
    if cut is None:
        return None
    x, dim, start, end = cut
    value, part = tensor_of(x), tensor_of(node)
    if value is None or part is None:
        return None
    size: int | torch.SymInt = value.shape[-1]
    if isinstance(size, torch.SymInt):
        return None
    half = size // 2
    begins = which * half
    fits = size % 2 == 0 and dim in (-1, value.ndim - 1) and part.shape[-1] == half
    return x if fits and start == begins and min(end, size) == begins + half else None


def _as_slice(node: fx.Node) -> tuple[fx.Node, int, int, int] | None:
    """The tensor, the dimension, and from where to where a view shows it."""
    if node.target is ATEN.slice.Tensor:
        names = {"x": None, "dim": 0, "start": 0, "end": None, "step": 1}
        call: dict[str, Any] = bound(node, names)
        ends = (call["start"], call["end"])
        if call["step"] != 1 or not all(isinstance(each, int) for each in ends):
            return None
        return call["x"], call["dim"], *ends
    if node.target is not operator.getitem:
        return None
    split, place = arguments_of(node)
    if getattr(split, "target", None) is not ATEN.split.Tensor:
        return None
    call = bound(split, {"x": None, "size": 0, "dim": 0})
    size = call["size"]
    if not isinstance(size, int):
        return None
    return call["x"], call["dim"], place * size, (place + 1) * size
