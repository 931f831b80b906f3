"""The row of embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Mapping


def _embedded(
    table: torch.Tensor, indices: torch.Tensor, *others: object, **named: object
) -> torch.Tensor:
    del others, named
    return table.new_empty((*indices.shape, table.shape[1]))


def _gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """Rows add up in f32, where their indices are; others came from nowhere."""
    none, unchecked = torch.zeros_like(call["table"]), False
    added = torch.ops.wave.scatter_add_rows(none, call["indices"], grad, unchecked)
    return {"table": added}


GATHER_ROWS = WaveOp(
    "gather_rows",
    "(Tensor table, Tensor indices, bool checked=True) -> Tensor",
    result=_embedded,
    gradient=_gradient,
    saved=("table", "indices"),
)
