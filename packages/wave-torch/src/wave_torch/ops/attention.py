"""The rows of attention, and how it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_torch.ops.row import RESULT, Call, WaveOp, result_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__wave_frames__ = "internal"
"""Messages point at the line that calls an operator."""


def attended(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *others: object
) -> torch.Tensor:
    """As many rows as queries, as wide as values."""
    del key, others
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


def _with_sums(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *others: object,
    layout: str = "bhsd",
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same, and a number for each row, by heads in either layout."""
    order = others[-1] if len(others) == len(_VARIANT) else layout
    heads = query if order == "bhsd" else query.transpose(1, 2)
    sums = query.new_empty(heads.shape[:3], dtype=torch.float32)
    return attended(query, key, value), sums


def like_three(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *others: object
) -> tuple[torch.Tensor, ...]:
    """A gradient of each."""
    del others
    return tuple(each.new_empty(each.shape) for each in (query, key, value))


def _gradient(
    call: Call, grad: torch.Tensor, _: torch.Tensor
) -> Mapping[str, torch.Tensor]:
    """Those of queries, keys and values; the other operands are constants."""
    read = ("query", "key", "value", RESULT, _LSE)
    words = {name: call[name] for name in _VARIANT}
    found = torch.ops.wave.attention_backward(
        *(call[name] for name in read), grad.to(call["query"].dtype), **words
    )
    return dict(zip(("query", "key", "value"), found, strict=True))


def _trained(*arguments: object) -> torch.Tensor:
    return torch.ops.wave.attention_with_lse(*arguments)[0]


_LSE = result_name(1)
_VARIANT = ("causal", "window", "bias", "slopes", "softcap", "scale", "layout")
_WORDS = (
    "bool causal=False, int? window=None, Tensor? bias=None, Tensor? slopes=None,"
    ' float? softcap=None, float? scale=None, str layout="bhsd"'
)
_NARROWED = ("query", "key", "value", "bias")

ATTENTION = WaveOp(
    "attention",
    f"(Tensor query, Tensor key, Tensor value, {_WORDS}) -> Tensor",
    result=attended,
    trained=_trained,
    narrowed=_NARROWED,
)

ATTENTION_WITH_LSE = WaveOp(
    "attention_with_lse",
    f"(Tensor query, Tensor key, Tensor value, {_WORDS}) -> (Tensor, Tensor)",
    result=_with_sums,
    gradient=_gradient,
    saved=("query", "key", "value", *_VARIANT, RESULT, _LSE),
    without=("bias", "slopes", _LSE),
    narrowed=_NARROWED,
)

ATTENTION_BACKWARD = WaveOp(
    "attention_backward",
    "(Tensor query, Tensor key, Tensor value, Tensor result, Tensor lse, Tensor grad,"
    f" {_WORDS}) -> (Tensor, Tensor, Tensor)",
    result=like_three,
    narrowed=(*_NARROWED, "result", "grad"),
)

ATTENTION_DECODE = WaveOp(
    "attention_decode",
    "(Tensor query, Tensor key, Tensor value, Tensor key_starts, int max_keys,"
    " Tensor? table=None, int? window=None, Tensor? slopes=None, float? softcap=None,"
    " float? scale=None, int? splits=None, bool checked=True) -> Tensor",
    result=attended,
    narrowed=("query", "key", "value"),
)
