"""The rows of functions of the last dimension: softmax and norms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_torch.ops.row import RESULT, Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch


def _like_first(x: torch.Tensor, *others: object) -> torch.Tensor:
    del others
    return x.new_empty(x.shape)


def _softmax_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    found, wide = call[RESULT].float(), grad.float()
    parts = found * wide
    return {"x": (parts - found * parts.sum(-1, keepdim=True)).to(grad.dtype)}


def _sum_of_rows(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """One number a column, added up in f32."""
    return x.reshape(-1, x.shape[-1]).sum(0).to(dtype) if x.ndim > 1 else x.to(dtype)


def _rms_norm_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    x, weight, wide = call["x"].float(), call["weight"].float(), grad.float()
    scale = (x.square().mean(-1, keepdim=True) + call["eps"]).rsqrt()
    normal = x * scale
    inner = wide * weight
    along = (inner * normal).mean(-1, keepdim=True)
    return {
        "x": (scale * (inner - normal * along)).to(grad.dtype),
        "weight": _sum_of_rows(wide * normal, grad.dtype),
    }


def _layer_norm_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    x, weight, wide = call["x"].float(), call["weight"].float(), grad.float()
    centred = x - x.mean(-1, keepdim=True)
    scale = (centred.square().mean(-1, keepdim=True) + call["eps"]).rsqrt()
    normal = centred * scale
    inner = wide * weight
    along = (inner * normal).mean(-1, keepdim=True)
    level = inner.mean(-1, keepdim=True)
    return {
        "x": (scale * (inner - level - normal * along)).to(grad.dtype),
        "weight": _sum_of_rows(wide * normal, grad.dtype),
        "bias": _sum_of_rows(wide, grad.dtype),
    }


SOFTMAX = WaveOp(
    "softmax",
    "(Tensor x) -> Tensor",
    result=_like_first,
    gradient=_softmax_gradient,
    saved=(RESULT,),
)

RMS_NORM = WaveOp(
    "rms_norm",
    "(Tensor x, Tensor weight, float eps=1e-5) -> Tensor",
    result=_like_first,
    gradient=_rms_norm_gradient,
    saved=("x", "weight", "eps"),
)

LAYER_NORM = WaveOp(
    "layer_norm",
    "(Tensor x, Tensor weight, Tensor bias, float eps=1e-5) -> Tensor",
    result=_like_first,
    gradient=_layer_norm_gradient,
    saved=("x", "weight", "eps"),
)
