"""The rows of products of groups of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_torch.ops.products import stored_type
from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Mapping


def _grouped_product(
    a: torch.Tensor,
    b: torch.Tensor,
    starts: torch.Tensor,
    rows: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    checked: bool = True,  # noqa: FBT001, FBT002 - torch gives them in order
) -> torch.Tensor:
    """A row for each of the groups'."""
    del starts, checked
    height = (a if rows is None else rows).shape[0]
    return a.new_empty((height, b.shape[2]), dtype=out_dtype or stored_type(a))


def _gated(
    a: torch.Tensor,
    b: torch.Tensor,
    starts: torch.Tensor,
    rows: torch.Tensor | None = None,
    checked: bool = True,  # noqa: FBT001, FBT002 - torch gives them in order
) -> torch.Tensor:
    """Half of the columns of the product."""
    del starts, checked
    height = (a if rows is None else rows).shape[0]
    return a.new_empty((height, b.shape[2] // 2))


def _of_weights(
    a: torch.Tensor, grad: torch.Tensor, starts: torch.Tensor, *others: object
) -> torch.Tensor:
    del others
    return a.new_empty((starts.shape[0] - 1, a.shape[1], grad.shape[1]))


def _gradients(call: Call, inner: torch.Tensor) -> dict[str, torch.Tensor]:
    """Of rows and weights, from the gradient of the sums of each row."""
    a, b, starts, rows = (call[name] for name in ("a", "b", "starts", "rows"))
    found: dict[str, torch.Tensor] = {}
    if "a" in call.wanted:
        each = torch.ops.wave.grouped_matmul(inner, b.mT, starts, checked=False)
        found["a"] = _brought_back(each, a, rows)
    if "b" in call.wanted:
        found["b"] = torch.ops.wave.grouped_matmul_weight(
            a, inner, starts, rows=rows, checked=False
        )
    return found


def _brought_back(
    each: torch.Tensor, a: torch.Tensor, rows: torch.Tensor | None
) -> torch.Tensor:
    """Rows of groups added up in f32 where a table took them from."""
    if rows is None:
        return each
    start = torch.zeros_like(a, dtype=torch.float32)
    return start.index_add(0, rows.long(), each.float()).to(a.dtype)


def _product_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    return _gradients(call, grad.to(call["a"].dtype))


def _gated_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """The sums once more, in f32: both halves have a gradient by the other one."""
    operands = (call[name] for name in ("a", "b", "starts", "rows"))
    sums = torch.ops.wave.grouped_matmul(
        *operands, out_dtype=torch.float32, checked=False
    )
    gate, up = sums.chunk(2, -1)
    wide = grad.float()
    slope = torch.ops.aten.silu_backward(wide * up, gate)
    inner = torch.cat((slope, wide * torch.nn.functional.silu(gate)), -1)
    return _gradients(call, inner.to(grad.dtype))


def _weight_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """Products of groups: of either operand by the other and what is given."""
    a, other, starts, rows = (call[name] for name in ("a", "grad", "starts", "rows"))
    found: dict[str, torch.Tensor] = {}
    if "a" in call.wanted:
        each = torch.ops.wave.grouped_matmul(other, grad.mT, starts, checked=False)
        found["a"] = _brought_back(each, a, rows)
    if "grad" in call.wanted:
        found["grad"] = torch.ops.wave.grouped_matmul(
            a, grad, starts, rows=rows, checked=False
        )
    return found


GROUPED_MATMUL = WaveOp(
    "grouped_matmul",
    "(Tensor a, Tensor b, Tensor starts, Tensor? rows=None,"
    " ScalarType? out_dtype=None, bool checked=True) -> Tensor",
    result=_grouped_product,
    gradient=_product_gradient,
    saved=("a", "b", "starts", "rows"),
    narrowed=("a", "b"),
)

GROUPED_MATMUL_WEIGHT = WaveOp(
    "grouped_matmul_weight",
    "(Tensor a, Tensor grad, Tensor starts, Tensor? rows=None, bool checked=True)"
    " -> Tensor",
    result=_of_weights,
    gradient=_weight_gradient,
    saved=("a", "grad", "starts", "rows"),
    narrowed=("a", "grad"),
)

GROUPED_SWIGLU = WaveOp(
    "grouped_swiglu",
    "(Tensor a, Tensor b, Tensor starts, Tensor? rows=None, bool checked=True)"
    " -> Tensor",
    result=_gated,
    gradient=_gated_gradient,
    saved=("a", "b", "starts", "rows"),
    narrowed=("a", "b"),
)
