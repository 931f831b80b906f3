"""Sums over other dimensions than the last, which gradients of vectors are."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.functions.rows import LONGEST
from wave_torch.graphs.nodes import Left, Rule, bound, emit, value_of, why_not

if TYPE_CHECKING:
    from torch import fx

ATEN = torch.ops.aten
SUM = ATEN.sum.dim_IntList

ARGUMENTS = {"x": None, "dim": None, "keepdim": False, "dtype": None}


def columns(node: fx.Node) -> fx.Node | Left:
    """`column_sums` over the first dimensions; the last ones are summed before.

    So are images over all but channels: each by its pixels, then all of them.
    """
    call = bound(node, ARGUMENTS)
    x, result = value_of(call["x"]), value_of(node)
    if not x.ndim:
        return Left("there are no rows")
    dims = {dim % x.ndim for dim in call["dim"] or range(x.ndim)}
    first = next((dim for dim in range(x.ndim) if dim not in dims), x.ndim)
    last = next((n for n in range(x.ndim - first) if x.ndim - 1 - n not in dims), 0)
    if first + last != len(dims) or not 0 < first < x.ndim:
        return Left(f"dimensions {sorted(dims)} of {x.ndim} are summed")
    reason = why_not(x) or why_not(result)
    if reason:
        return Left(reason)
    if not all(isinstance(size, int) for size in x.shape):
        return Left("sizes are open")
    if prod(x.shape[x.ndim - last :]) > LONGEST:
        return Left(f"rows are longer than {LONGEST}")
    return _summed(node, call["x"], first, last)


def _summed(node: fx.Node, x: fx.Node, first: int, last: int) -> fx.Node:
    """Over so many of the first dimensions, and of the last ones."""
    shape, result = value_of(x).shape, value_of(node)
    inner = shape[first : len(shape) - last]
    rows = [prod(shape[:first]), prod(inner)]
    if last:
        pixels = emit(node, ATEN.reshape.default, x, [*rows, -1])
        found = emit(node, SUM, pixels, [-1], dtype=torch.float32)
    else:
        found = emit(node, ATEN.reshape.default, x, rows)
    operator = torch.ops.wave.column_sums.default
    sums = emit(node, operator, found, out_dtype=result.dtype)
    return emit(node, ATEN.reshape.default, sums, list(result.shape))


SUMS: dict[Any, Rule] = {SUM: columns}
"""Op -> its rule. Sums of rows are for chains."""
