"""The rows of attention of sequences, one behind the other, and how it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_core.diagnostics import capture_location, launch_error
from wave_torch.ops.attention import attended, like_three
from wave_torch.ops.row import RESULT, Call, WaveOp, result_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__wave_frames__ = "internal"
"""Messages point at the line that calls an operator."""

_LSE = result_name(1)
_ROWS = ("query", "key", "value")
_STARTS = ("query_starts", "key_starts", "max_queries", "max_keys")
_CACHE = ("table", "tree")
_VARIANT = ("causal", "window", "slopes", "softcap", "scale", "checked")
_HEAD = "Tensor query, Tensor key, Tensor value"
_BETWEEN = "Tensor query_starts, Tensor key_starts, int max_queries, int max_keys"
_WORDS = (
    "bool causal=False, int? window=None, Tensor? slopes=None, float? softcap=None,"
    " float? scale=None, bool checked=True"
)


def _with_sums(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *_: object,
    **__: object,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The result, and a number for each row, by heads."""
    tokens, heads, _channels = query.shape
    sums = query.new_empty((heads, tokens), dtype=torch.float32)
    return attended(query, key, value), sums


def _gradient(
    call: Call, grad: torch.Tensor, _: torch.Tensor
) -> Mapping[str, torch.Tensor]:
    """Those of queries, keys and values; the other operands are constants."""
    results = (call[RESULT], call[_LSE], grad.to(call["query"].dtype))
    found = torch.ops.wave.attention_varlen_backward(
        *(call[name] for name in _ROWS),
        *results,
        *(call[name] for name in _STARTS),
        # What was out of range was refused on the way there.
        **{name: call[name] for name in _VARIANT if name != "checked"},
        checked=False,
    )
    return dict(zip(_ROWS, found, strict=True))


def _trained(*arguments: object) -> torch.Tensor:
    """Those of training: caches have tables and trees.

    Raises:
        LaunchError: WV0714 where there is one.
    """
    names = (*_ROWS, *_STARTS, *_CACHE, *_VARIANT)
    given = dict(zip(names, arguments, strict=False))
    for name in _CACHE:
        if given.pop(name, None) is not None:
            raise launch_error(
                "WV0714",
                f"`attention_varlen` with a `{name}` takes part in autograd",
                at=capture_location(),
                label="called here",
                help="it has gradients without one: give `.detach()`, or keys in order",
            )
    return torch.ops.wave.attention_varlen_with_lse(**given)[0]


ATTENTION_VARLEN = WaveOp(
    "attention_varlen",
    f"({_HEAD}, {_BETWEEN}, Tensor? table=None, Tensor? tree=None, {_WORDS}) -> Tensor",
    result=attended,
    trained=_trained,
    narrowed=_ROWS,
)

ATTENTION_VARLEN_WITH_LSE = WaveOp(
    "attention_varlen_with_lse",
    f"({_HEAD}, {_BETWEEN}, {_WORDS}) -> (Tensor, Tensor)",
    result=_with_sums,
    gradient=_gradient,
    saved=(*_ROWS, *_STARTS, *_VARIANT, RESULT, _LSE),
    without=("slopes", _LSE),
    narrowed=_ROWS,
)

ATTENTION_VARLEN_BACKWARD = WaveOp(
    "attention_varlen_backward",
    f"({_HEAD}, Tensor result, Tensor lse, Tensor grad, {_BETWEEN}, {_WORDS})"
    " -> (Tensor, Tensor, Tensor)",
    result=like_three,
    narrowed=(*_ROWS, "result", "grad"),
)
