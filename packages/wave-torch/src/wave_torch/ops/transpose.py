"""The row of transposed matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Mapping


def _exchanged(x: torch.Tensor) -> torch.Tensor:
    *lead, height, width = x.shape
    return x.new_empty((*lead, width, height))


def _gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    del call
    return {"x": torch.ops.wave.transpose(grad)}


TRANSPOSE = WaveOp(
    "transpose",
    "(Tensor x) -> Tensor",
    result=_exchanged,
    gradient=_gradient,
)
