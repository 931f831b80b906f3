"""The rows of running sums, and of the greatest elements of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_torch.ops.row import Call, WaveOp, result_name

if TYPE_CHECKING:
    from collections.abc import Mapping

INDICES = result_name(1)


def _like_first(x: torch.Tensor, *others: object, **named: object) -> torch.Tensor:
    del others, named
    return x.new_empty(x.shape)


def _cumsum_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """An element is in the sums behind it: those are summed from the other end."""
    turned = call["exclusive"], not call["reverse"]
    return {"x": torch.ops.wave.cumsum(grad, *turned)}


def _picked(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (*x.shape[:-1], k)
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int32)


def _topk_gradient(
    call: Call, grad: torch.Tensor, of_indices: object
) -> Mapping[str, torch.Tensor]:
    del of_indices
    nothing = grad.new_zeros(call["x"].shape)
    return {"x": nothing.scatter(-1, call[INDICES].long(), grad)}


CUMSUM = WaveOp(
    "cumsum",
    "(Tensor x, bool exclusive=False, bool reverse=False) -> Tensor",
    result=_like_first,
    gradient=_cumsum_gradient,
    saved=("exclusive", "reverse"),
)

TOPK = WaveOp(
    "topk",
    "(Tensor x, int k) -> (Tensor, Tensor)",
    result=_picked,
    gradient=_topk_gradient,
    saved=("x", INDICES),
    without=(INDICES,),
)
