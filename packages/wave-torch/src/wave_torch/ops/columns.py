"""The row of sums of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch


def _one_row(x: torch.Tensor, out_dtype: torch.dtype | None = None) -> torch.Tensor:
    return x.new_empty(x.shape[-1:], dtype=out_dtype or x.dtype)


def _gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """The same for each row."""
    x = call["x"]
    return {"x": grad.to(x.dtype).expand(x.shape)}


COLUMN_SUMS = WaveOp(
    "column_sums",
    "(Tensor x, ScalarType? out_dtype=None) -> Tensor",
    result=_one_row,
    gradient=_gradient,
    saved=("x",),
)
