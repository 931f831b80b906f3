"""The rows of mixtures of experts."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import torch

from wave_kernels.functions.moe import check_layer
from wave_torch.ops.row import RESULT, Call, WaveOp, result_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__wave_frames__ = "internal"
"""Messages point at the line that calls an operator."""

EXPERTS = result_name(1)
"""The second result of routing."""


def _routed(
    logits: torch.Tensor, top_k: int, *others: object
) -> tuple[torch.Tensor, torch.Tensor]:
    del others
    shape = (logits.shape[0], top_k)
    weights = logits.new_empty(shape, dtype=torch.float32)
    return weights, logits.new_empty(shape, dtype=torch.int32)


def _route_gradient(
    call: Call, grad: torch.Tensor, *others: object
) -> Mapping[str, torch.Tensor]:
    """Of logits; which experts are the greatest does not change."""
    del others
    logits, weights, experts = call["logits"], call[RESULT], call[EXPERTS].long()
    wide = logits.float()
    along = (weights * grad).sum(-1, keepdim=True)
    if call["scores"] == "sigmoid":
        scores = wide.gather(-1, experts).sigmoid()
        if call["normalised"]:
            grad = (grad - along) / scores.sum(-1, keepdim=True)
        chosen = grad * scores * (1 - scores)
    else:
        chosen = weights * (grad - along) if call["normalised"] else weights * grad
    found = torch.zeros_like(wide).scatter(-1, experts, chosen)
    if call["scores"] == "softmax" and not call["normalised"]:
        found = found - wide.softmax(-1) * along
    return {"logits": found.to(logits.dtype)}


def _grouped(
    experts: torch.Tensor, groups: int, *others: object
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    del others
    pairs = experts.new_empty(experts.numel())
    return pairs, experts.new_empty(experts.shape), experts.new_empty(groups + 1)


def _combined(
    rows: torch.Tensor, places: torch.Tensor, *others: object
) -> torch.Tensor:
    del others
    return rows.new_empty((places.shape[0], rows.shape[1]))


def _combine_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    rows, weights, places = call["rows"], call["weights"], call["places"].long()
    wide = grad.float()[:, None]
    found: dict[str, torch.Tensor] = {}
    if "rows" in call.wanted:
        parts = (weights[..., None] * wide).flatten(0, 1)
        start = torch.zeros_like(rows, dtype=torch.float32)
        found["rows"] = start.index_add(0, places.flatten(), parts).to(rows.dtype)
    if "weights" in call.wanted:
        found["weights"] = (rows[places].float() * wide).sum(-1)
    return found


def _mixed(x: torch.Tensor, *others: object) -> torch.Tensor:
    del others
    return x.new_empty(x.shape)


def _trained_layer(
    x: torch.Tensor,
    router: torch.Tensor,
    gate_up: torch.Tensor,
    down: torch.Tensor,
    top_k: int,
    scores: str = "softmax",
    normalised: bool = True,  # noqa: FBT001, FBT002 - torch gives them in order
) -> torch.Tensor:
    """The layer of the operators that it consists of, which have gradients."""
    with torch.no_grad():
        check_layer(x, router, gate_up, down, top_k, scores)
    wave, count = torch.ops.wave, router.shape[0]
    tokens = x.reshape(prod(x.shape[:-1]), x.shape[-1])
    logits = wave.matmul(tokens, router.mT, out_dtype=torch.float32)
    weights, experts = wave.route_tokens(logits, top_k, scores, normalised)
    picked, places, starts = wave.group_tokens(experts, count, checked=False)
    rows = wave.grouped_swiglu(tokens, gate_up.mT, starts, picked, checked=False)
    results = wave.grouped_matmul(rows, down.mT, starts, checked=False)
    found = wave.combine_tokens(results, places, weights, checked=False)
    return found.reshape(x.shape)


ROUTE_TOKENS = WaveOp(
    "route_tokens",
    '(Tensor logits, int top_k, str scores="softmax", bool normalised=True)'
    " -> (Tensor, Tensor)",
    result=_routed,
    gradient=_route_gradient,
    saved=("logits", "scores", "normalised", RESULT, EXPERTS),
)

GROUP_TOKENS = WaveOp(
    "group_tokens",
    "(Tensor experts, int groups, bool checked=True) -> (Tensor, Tensor, Tensor)",
    result=_grouped,
)

COMBINE_TOKENS = WaveOp(
    "combine_tokens",
    "(Tensor rows, Tensor places, Tensor weights, bool checked=True) -> Tensor",
    result=_combined,
    gradient=_combine_gradient,
    saved=("rows", "places", "weights"),
)

MOE = WaveOp(
    "moe",
    "(Tensor x, Tensor router, Tensor gate_up, Tensor down, int top_k,"
    ' str scores="softmax", bool normalised=True) -> Tensor',
    result=_mixed,
    trained=_trained_layer,
    narrowed=("x", "router", "gate_up", "down"),
)
