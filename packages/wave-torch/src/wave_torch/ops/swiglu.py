"""The row of gated products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_torch.ops.gated import VALUES
from wave_torch.ops.products import SLOPES
from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Mapping


def _gated(
    x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor, activation: str = "silu"
) -> torch.Tensor:
    del up, activation
    return x.new_empty((*x.shape[:-1], gate.shape[1]))


def _gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """Both products once more, in f32: neither is kept, and each scales the other's."""
    x, gate, up = (call[name] for name in ("x", "gate", "up"))
    gates, ups = (
        torch.ops.wave.matmul(x, each, out_dtype=torch.float32) for each in (gate, up)
    )
    wide, name = grad.float(), call["activation"]
    of_gates = SLOPES[name](wide * ups, gates).to(x.dtype)
    of_ups = (wide * VALUES[name](gates)).to(x.dtype)
    found: dict[str, torch.Tensor] = {}
    if "x" in call.wanted:
        first = torch.ops.wave.matmul(of_gates, gate.mT)
        found["x"] = torch.ops.wave.matmul(of_ups, up.mT, residual=first)
    columns = x.reshape(-1, x.shape[-1]).mT
    for name, inner in (("gate", of_gates), ("up", of_ups)):
        if name in call.wanted:
            rows = inner.reshape(-1, inner.shape[-1])
            found[name] = torch.ops.wave.matmul(columns, rows)
    return found


SWIGLU = WaveOp(
    "swiglu",
    '(Tensor x, Tensor gate, Tensor up, str activation="silu") -> Tensor',
    result=_gated,
    gradient=_gradient,
    saved=("x", "gate", "up", "activation"),
    narrowed=("x", "gate", "up"),
)
