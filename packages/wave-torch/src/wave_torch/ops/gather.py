"""The row of embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch


def _embedded(
    table: torch.Tensor, indices: torch.Tensor, *others: object, **named: object
) -> torch.Tensor:
    del others, named
    return table.new_empty((*indices.shape, table.shape[1]))


def _gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """Rows add up in f32, where their indices are; others came from nowhere."""
    rows, length = call["table"].shape
    places = call["indices"].reshape(-1).long()
    inside = (places >= 0) & (places < rows)
    wide = grad.reshape(-1, length).float() * inside[:, None]
    total = wide.new_zeros(rows, length).index_add(0, places * inside, wide)
    return {"table": total.to(grad.dtype)}


GATHER_ROWS = WaveOp(
    "gather_rows",
    "(Tensor table, Tensor indices, bool checked=True) -> Tensor",
    result=_embedded,
    gradient=_gradient,
    saved=("table", "indices"),
)
