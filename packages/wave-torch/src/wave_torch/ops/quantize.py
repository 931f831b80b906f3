"""The row of quantised rows."""

from __future__ import annotations

import torch

from wave_torch.ops.row import WaveOp


def _stored(x: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    scales = x.new_empty(x.shape[:-1], dtype=torch.float32)
    return x.new_empty(x.shape, dtype=dtype), scales


QUANTIZE_ROWS = WaveOp(
    "quantize_rows",
    "(Tensor x, ScalarType dtype) -> (Tensor, Tensor)",
    result=_stored,
)
