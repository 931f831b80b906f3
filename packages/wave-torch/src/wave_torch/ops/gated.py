"""The row of gated activations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_torch.ops.products import SLOPES
from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VALUES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": torch.nn.functional.gelu,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "silu": torch.nn.functional.silu,
    "tanh": torch.tanh,
}
"""Activations by name."""


def _half(x: torch.Tensor, activation: str = "silu") -> torch.Tensor:
    del activation
    return x.new_empty((*x.shape[:-1], x.shape[-1] // 2))


def _gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """Of gates by the activation's slope, of what they let pass by the gates."""
    gate, factor = call["x"].float().chunk(2, -1)
    wide, name = grad.float(), call["activation"]
    of_gate = SLOPES[name](wide * factor, gate)
    of_factor = wide * VALUES[name](gate)
    return {"x": torch.cat((of_gate, of_factor), -1).to(grad.dtype)}


GATED_ACTIVATION = WaveOp(
    "gated_activation",
    '(Tensor x, str activation="silu") -> Tensor',
    result=_half,
    gradient=_gradient,
    saved=("x", "activation"),
)
