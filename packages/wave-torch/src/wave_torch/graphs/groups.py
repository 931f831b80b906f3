"""Products of groups of rows as ops of torch, and the gradients of their weights."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from wave_torch.graphs.nodes import (
    Left,
    Rule,
    bound,
    emit,
    exchange,
    value_of,
    why_not,
)

if TYPE_CHECKING:
    from torch import fx

ATEN, WAVE = torch.ops.aten, torch.ops.wave
OP = ATEN._grouped_mm.default  # noqa: SLF001 - its name
ARGUMENTS = {"a": None, "b": None, "offs": None, "bias": None, "out_dtype": None}


def grouped(node: fx.Node) -> fx.Node | Left:
    """`grouped_matmul` of groups of rows, or of columns the gradient of its weights."""
    call = bound(node, ARGUMENTS)
    a, b, result = (value_of(each) for each in (call["a"], call["b"], node))
    reason = why_not(result, a, b)
    if reason:
        return Left(reason)
    if call["offs"] is None or call["bias"] is not None:
        return Left("groups are of one size" if call["bias"] is None else "a bias")
    if a.ndim != 2:
        return Left("groups are of the second operand's columns")
    # Torch says where groups end; the first one starts at 0.
    starts = emit(node, ATEN.constant_pad_nd.default, call["offs"], [1, 0])
    if b.ndim == 3:
        operands = call["a"], call["b"], starts
        return emit(node, WAVE.grouped_matmul.default, *operands, checked=False)
    columns = exchange(node, call["a"], 0, 1)
    operands = columns, call["b"], starts
    return emit(node, WAVE.grouped_matmul_weight.default, *operands, checked=False)


GROUPS: dict[Any, Rule] = {OP: grouped}
"""Op -> its rule."""
