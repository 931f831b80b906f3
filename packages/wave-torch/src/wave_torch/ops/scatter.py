"""The rows of updates of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Mapping


def _updated(
    table: torch.Tensor,
    indices: torch.Tensor,
    *others: object,
    **named: object,
) -> torch.Tensor:
    del indices, others, named
    return torch.empty(table.shape, dtype=table.dtype, device=table.device)


def _added_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """A row that belongs nowhere has, and gives, nothing."""
    return {"table": grad, "rows": _picked(grad, call["indices"])}


def _replaced_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """What was replaced has none, neither in the table nor among the rows."""
    table, indices = call["table"], call["indices"]
    inside = (indices >= 0) & (indices < len(table))
    places = torch.where(inside, indices, len(table)).reshape(-1).long()
    numbers = torch.arange(places.numel(), device=places.device)
    last = torch.full((len(table) + 1,), -1, device=places.device)
    last = last.scatter_reduce(0, places, numbers, "amax")
    stays = (last[places] == numbers).view(indices.shape) & inside
    return {
        "table": torch.where(last[:-1, None] < 0, grad, 0.0),
        "rows": torch.where(stays[..., None], _picked(grad, indices), 0.0),
    }


def _picked(grad: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """The gradient of each row's place; zeros where there is none."""
    unchecked = False
    return torch.ops.wave.gather_rows(grad, indices, unchecked)


_SCHEMA = "(Tensor table, Tensor indices, Tensor rows, bool checked=True) -> Tensor"
SCATTER_ROWS = WaveOp(
    "scatter_rows",
    _SCHEMA,
    result=_updated,
    gradient=_replaced_gradient,
    saved=("table", "indices"),
)
SCATTER_ADD_ROWS = WaveOp(
    "scatter_add_rows",
    _SCHEMA,
    result=_updated,
    gradient=_added_gradient,
    saved=("indices",),
)
