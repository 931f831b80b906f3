"""Functions of torch that have a kernel as a whole, before torch takes them apart.

They are replaced in the graph that Dynamo made of the model, so AOTAutograd sees an
operator of ours, with its own gradient.
"""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as torch_functions

from wave_torch.graphs.nodes import (
    Left,
    Rule,
    bound,
    emit,
    size_of,
    value_of,
    why_not,
)
from wave_torch.graphs.sdpa import attend

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import fx

NORM = {"input": None, "normalized_shape": None, "weight": None}


def rms_norm(node: fx.Node) -> fx.Node | Left:
    """`rms_norm` of the last dimension."""
    call = bound(node, {**NORM, "eps": None})
    eps = torch.finfo(torch.float32).eps if call["eps"] is None else call["eps"]
    return _norm(node, torch.ops.wave.rms_norm.default, call, ("weight",), eps)


def layer_norm(node: fx.Node) -> fx.Node | Left:
    """`layer_norm` of the last dimension."""
    call = bound(node, {**NORM, "bias": None, "eps": 1e-5})
    columns = ("weight", "bias")
    return _norm(node, torch.ops.wave.layer_norm.default, call, columns, call["eps"])


def _norm(
    node: fx.Node,
    operator: Callable[..., Any],
    call: dict[str, Any],
    columns: tuple[str, ...],
    eps: float,
) -> fx.Node | Left:
    reason = why_not(value_of(node))
    if reason:
        return Left(reason)
    if len(value_of(call["normalized_shape"])) != 1:
        return Left("the norm is of several dimensions")
    vectors = [_column(node, name, call) for name in columns]
    found = emit(node, operator, _cast(node, call["input"]), *vectors, eps)
    # Autocast has rules of its own for the operator, and others for the function.
    return emit(node, torch.ops.aten.to.dtype, found, value_of(node).dtype)


def _column(node: fx.Node, name: str, call: dict[str, Any]) -> fx.Node:
    """A number for each column; where there is none, the one that changes nothing."""
    given = call[name]
    if given is not None:
        return _cast(node, given)
    result = value_of(node)
    fill = 1.0 if name == "weight" else 0.0
    kind = {"dtype": result.dtype, "device": result.device}
    return emit(node, torch.full, (size_of(node, call["input"], -1),), fill, **kind)


def _cast(node: fx.Node, operand: fx.Node) -> fx.Node:
    """In the type of the result, which autocast may have made another."""
    dtype = value_of(node).dtype
    if value_of(operand).dtype == dtype:
        return operand
    return emit(node, torch.ops.aten.to.dtype, operand, dtype)


FUNCTIONS: dict[Any, Rule] = {
    torch_functions.scaled_dot_product_attention: attend,
    torch_functions.layer_norm: layer_norm,
    torch.layer_norm: layer_norm,
    torch_functions.rms_norm: rms_norm,
    torch.rms_norm: rms_norm,
}
"""Function -> its rule: what is computed instead, written in front of the call."""
