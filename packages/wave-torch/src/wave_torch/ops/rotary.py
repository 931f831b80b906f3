"""The row of rotary embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Mapping


def _like_first(x: torch.Tensor, *others: object, **named: object) -> torch.Tensor:
    del others, named
    return x.new_empty(x.shape)


def _gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """Turned back; positions have been looked at."""
    places = call["positions"], call["interleaved"], False
    back = torch.ops.wave.rotary_embedding(grad, call["cos"], -call["sin"], *places)
    return {"x": back}


ROTARY_EMBEDDING = WaveOp(
    "rotary_embedding",
    "(Tensor x, Tensor cos, Tensor sin, Tensor? positions=None,"
    " bool interleaved=False, bool checked=True) -> Tensor",
    result=_like_first,
    gradient=_gradient,
    saved=("cos", "sin", "positions", "interleaved"),
    without=("cos", "sin"),
)
