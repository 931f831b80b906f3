"""The row of cross entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_torch.ops.row import Call, WaveOp, result_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

LSE = result_name(1)


def _one_a_row(
    logits: torch.Tensor, *others: object, **named: object
) -> tuple[torch.Tensor, torch.Tensor]:
    del others, named
    wide = logits.float()
    return wide.new_empty(logits.shape[:-1]), wide.new_empty(logits.shape[:-1])


def _gradient(
    call: Call, of_loss: torch.Tensor, of_lse: torch.Tensor
) -> Mapping[str, torch.Tensor]:
    """Of lse the softmax; what is likely takes its share away from it."""
    logits, targets = call["logits"], call["targets"].long()
    smoothing = call["label_smoothing"]
    counted = targets != call["ignore_index"]
    share = of_loss * counted
    powers = (logits.float() - call[LSE][..., None]).exp()
    everywhere = share * (smoothing / logits.shape[-1])
    spread = powers * (share + of_lse)[..., None] - everywhere[..., None]
    own = (targets * counted)[..., None]
    found = spread.scatter_add(-1, own, (share * (smoothing - 1.0))[..., None])
    return {"logits": found.to(logits.dtype)}


CROSS_ENTROPY = WaveOp(
    "cross_entropy",
    "(Tensor logits, Tensor targets, int ignore_index=-100,"
    " float label_smoothing=0.0, bool checked=True) -> (Tensor, Tensor)",
    result=_one_a_row,
    gradient=_gradient,
    saved=("logits", "targets", "ignore_index", "label_smoothing", LSE),
)
