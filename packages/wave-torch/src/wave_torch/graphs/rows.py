"""Functions of rows as ops of torch."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from wave_torch.graphs.nodes import (
    Left,
    Rule,
    arguments_of,
    emit,
    exchange,
    value_of,
    why_not,
)

if TYPE_CHECKING:
    from torch import fx

ATEN = torch.ops.aten


def softmax(node: fx.Node) -> fx.Node | Left:
    """Along any dimension, which becomes the last one for the kernel."""
    x, dim, widened = arguments_of(node)
    value, result = value_of(x), value_of(node)
    reason = why_not(value)
    if reason:
        return Left(reason)
    if not value.ndim:
        return Left("there are no rows")
    if widened:
        x = emit(node, ATEN._to_copy.default, x, dtype=result.dtype)  # noqa: SLF001 - its name
    last = dim in (-1, value.ndim - 1)
    turned = x if last else exchange(node, x, dim, -1)
    found = emit(node, torch.ops.wave.softmax.default, turned)
    return found if last else exchange(node, found, dim, -1)


ROWS: dict[Any, Rule] = {ATEN._softmax.default: softmax}  # noqa: SLF001 - its name
"""Op -> its rule."""
