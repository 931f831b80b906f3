"""The rows of products of groups of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_torch.ops.products import stored_type
from wave_torch.ops.row import WaveOp

if TYPE_CHECKING:
    import torch


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


GROUPED_MATMUL = WaveOp(
    "grouped_matmul",
    "(Tensor a, Tensor b, Tensor starts, Tensor? rows=None,"
    " ScalarType? out_dtype=None, bool checked=True) -> Tensor",
    result=_grouped_product,
    narrowed=("a", "b"),
)

GROUPED_SWIGLU = WaveOp(
    "grouped_swiglu",
    "(Tensor a, Tensor b, Tensor starts, Tensor? rows=None, bool checked=True)"
    " -> Tensor",
    result=_gated,
    narrowed=("a", "b"),
)
