"""Attention of sequences with what its gradient needs, and the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_kernels.definitions.attention_backward import (
    key_gradient_kernel,
    query_gradient_kernel,
)
from wave_kernels.definitions.ragged_attention import ragged_attention_kernel
from wave_kernels.functions.launches import launch
from wave_kernels.functions.ragged_calls import DYNAMIC, RaggedCall, Sequences
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def attention_varlen_with_lse(  # noqa: PLR0913 - one word for each variant
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_starts: torch.Tensor,
    key_starts: torch.Tensor,
    *,
    max_queries: int,
    max_keys: int,
    causal: bool = False,
    window: int | None = None,
    slopes: torch.Tensor | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    checked: bool = True,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`attention_varlen`, and of each row the logarithm of the sum of ``exp(scores)``.

    Args:
        query: This and all others as in `attention_varlen`, without a table and a tree.
        key: As there.
        value: As there.
        query_starts: As there.
        key_starts: As there.
        max_queries: As there.
        max_keys: As there.
        causal: As there.
        window: As there.
        slopes: As there.
        softcap: As there.
        scale: As there.
        checked: As there.
        out: Takes both results.

    Returns:
        The result of `attention_varlen`, and ``[H, T]``, float32, within 1e-3; NaN
        and minus infinity as in `attention_with_lse`.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import attention_varlen_with_lse
        >>> rows = torch.eye(3, dtype=torch.float16).view(3, 1, 3)
        >>> starts = torch.tensor([0, 1, 3], dtype=torch.int32)
        >>> attention_varlen_with_lse(rows, rows, rows, starts, starts, max_queries=2,
        ...                           max_keys=2, scale=0.0)[1].exp()
        tensor([[1., 2., 2.]])
    """
    between = query_starts, key_starts, max_queries, max_keys
    variant = causal, window, slopes, softcap, scale, checked
    sequences = Sequences(*between, *variant)
    name = "attention_varlen_with_lse"
    call = RaggedCall.of(name, (query, key, value), sequences)
    result, lse = out or (None, None)
    found = call.given.result(result, call.output, query.dtype)
    sums = call.given.result(lse, call.sums, torch.float32)
    if call.empty:
        return found.zero_(), sums.fill_(-torch.inf)
    stored = found
    if not call.sizes["N"]:
        # Sums do not depend on values, and workgroups own channels of the result.
        some = value.new_zeros((*value.shape[:-1], 1))
        call = RaggedCall.of(name, (query, key, some), sequences)
        stored = query.new_empty(call.output)
    what, symbols = {**call.what, "lse": True}, call.symbols | call.tiles_of_queries()
    operands = (*call.operands, stored, sums)
    launch(ragged_attention_kernel, what, symbols, operands, DYNAMIC)
    return found, sums


@repeated
def attention_varlen_backward(  # noqa: PLR0913 - one word for each variant
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    result: torch.Tensor,
    lse: torch.Tensor,
    grad: torch.Tensor,
    query_starts: torch.Tensor,
    key_starts: torch.Tensor,
    *,
    max_queries: int,
    max_keys: int,
    causal: bool = False,
    window: int | None = None,
    slopes: torch.Tensor | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    checked: bool = True,
    out: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of query, key and value of `attention_varlen`; not of slopes.

    The two kernels of `attention_backward`, and like them the same bits each time.

    Args:
        query: This, key, value, starts, maxima and what has a default as
            `attention_varlen_with_lse` was given them.
        key: As there.
        value: As there.
        result: What `attention_varlen_with_lse` returned.
        lse: And the other that it returned.
        grad: The gradient of ``result``, of its shape and type.
        query_starts: As `attention_varlen` was given them.
        key_starts: As there.
        max_queries: As there.
        max_keys: As there.
        causal: As there.
        window: As there.
        slopes: As there.
        softcap: As there.
        scale: As there.
        checked: As there.
        out: Takes the gradients.

    Returns:
        Gradients of the shapes and type of query, key and value, as accurate as those
        of `attention_backward`; zeros for keys of no sequence.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import (
        ...     attention_varlen_backward,
        ...     attention_varlen_with_lse,
        ... )
        >>> rows = torch.eye(3, dtype=torch.float16).view(3, 1, 3)
        >>> starts = torch.tensor([0, 1, 3], dtype=torch.int32)
        >>> most = {"max_queries": 2, "max_keys": 2}
        >>> found = attention_varlen_with_lse(rows, rows, rows, starts, starts, **most)
        >>> attention_varlen_backward(rows, rows, rows, *found, rows, starts, starts,
        ...                           **most)[2].shape
        torch.Size([3, 1, 3])
    """
    between = query_starts, key_starts, max_queries, max_keys
    variant = causal, window, slopes, softcap, scale, checked
    sequences = Sequences(*between, *variant)
    read = query, key, value
    call = RaggedCall.of("attention_varlen_backward", read, sequences)
    rows = _fitting(call, result, grad, lse)
    found = tuple(
        call.given.result(taken, each.shape, query.dtype).zero_()
        for taken, each in zip(out or (None, None, None), read, strict=True)
    )
    if grad.numel() and not call.empty:
        _launch(call, rows, found)
    return found[0], found[1], found[2]


def _fitting(
    call: RaggedCall, result: torch.Tensor, grad: torch.Tensor, lse: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What attention returned, and the gradient of it, seen to have its shapes."""
    given = call.given
    return (
        given.tensor("result", result, call.output),
        given.tensor("grad", grad, call.output),
        given.tensor("lse", lse, call.sums, torch.float32),
    )


def _launch(
    call: RaggedCall, rows: tuple[torch.Tensor, ...], found: Sequence[torch.Tensor]
) -> None:
    """Gradients of queries, then of the other two, which read ``delta``."""
    (result, grad, lse), (dquery, *others) = rows, found
    read, what = (*call.operands, grad, lse), {**call.what, "ragged": True}
    delta = torch.empty_like(lse)
    symbols = {**call.symbols, "DK": call.sizes["K1"]}
    launch(
        query_gradient_kernel,
        what,
        symbols | call.tiles_of_queries(),
        (*read, result, delta, dquery),
        DYNAMIC,
    )
    group = call.sizes["H"] // call.sizes["KVH"]
    parts = others if group == 1 else [_apart(call, each) for each in others]
    symbols |= {"DN": call.sizes["N"], **call.tiles_of_keys()}
    launch(key_gradient_kernel, what, symbols, (*read, delta, *parts), DYNAMIC)
    for into, part in zip(others, parts, strict=True):
        if part is not into:
            shape = (*into.shape[:2], group, into.shape[2])
            into.copy_(part.view(shape).sum(2))


def _apart(call: RaggedCall, shared: torch.Tensor) -> torch.Tensor:
    """What takes the gradients of a head of keys, one from each head of queries."""
    shape = (shared.shape[0], call.sizes["H"], shared.shape[2])
    return shared.new_zeros(shape, dtype=torch.float32)
