"""The rows of attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_torch.ops.row import WaveOp

if TYPE_CHECKING:
    import torch


def _attended(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *others: object
) -> torch.Tensor:
    """As many rows as queries, as wide as values."""
    del key, others
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


ATTENTION = WaveOp(
    "attention",
    "(Tensor query, Tensor key, Tensor value, bool causal=False, int? window=None,"
    " Tensor? bias=None, Tensor? slopes=None, float? softcap=None,"
    ' float? scale=None, str layout="bhsd") -> Tensor',
    result=_attended,
    narrowed=("query", "key", "value", "bias"),
)

ATTENTION_VARLEN = WaveOp(
    "attention_varlen",
    "(Tensor query, Tensor key, Tensor value, Tensor query_starts, Tensor key_starts,"
    " int max_queries, int max_keys, Tensor? table=None, bool causal=False,"
    " int? window=None, Tensor? slopes=None, float? softcap=None, float? scale=None,"
    " bool checked=True) -> Tensor",
    result=_attended,
    narrowed=("query", "key", "value"),
)
