"""Attention over heads with what its gradient needs, and the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_kernels.definitions.attention import head_attention_kernel
from wave_kernels.definitions.attention_backward import (
    key_gradient_kernel,
    query_gradient_kernel,
)
from wave_kernels.functions.attention_calls import Call, Sizes, Variant
from wave_kernels.functions.launches import launch
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def attention_with_lse(  # noqa: PLR0913 - one word for each variant
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    bias: torch.Tensor | None = None,
    slopes: torch.Tensor | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    layout: str = "bhsd",
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`attention`, and of each row the logarithm of the sum of ``exp(scores)``.

    Args:
        query: This and all others as in `attention`.
        key: As there.
        value: As there.
        causal: As there.
        window: As there.
        bias: As there.
        slopes: As there.
        softcap: As there.
        scale: As there.
        layout: As there.
        out: Takes both results.

    Returns:
        The result of `attention`, and ``[B, H, M]`` in either layout, float32, within
        1e-3; minus infinity for queries that see no key, NaN where a score is plus
        infinity, as the softmax is.

    Raises:
        LaunchError: As `attention`.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import attention_with_lse
        >>> rows = torch.eye(2, dtype=torch.float16).view(1, 1, 2, 2)
        >>> attention_with_lse(rows, rows, rows, causal=True, scale=0.0)[1].exp()
        tensor([[[1., 2.]]])
    """
    variant = Variant(causal, window, bias, slopes, softcap, scale, layout)
    call = Call.of("attention_with_lse", query, key, value, variant)
    sizes, (result, lse) = call.sizes, out or (None, None)
    found = call.given.result(result, sizes.output, query.dtype)
    sums = call.given.result(lse, sizes.sums, torch.float32)
    if not sums.numel() or not sizes.keys:
        return found.zero_(), sums.fill_(-torch.inf)
    stored = found
    if not sizes.dv:
        # Sums do not depend on values, and workgroups own channels of the result.
        some = value.new_zeros((*value.shape[:-1], 1))
        call = Call.of("attention_with_lse", query, key, some, variant)
        stored = query.new_empty(call.sizes.output)
    what = {**call.what, "lse": True}
    operands = (*call.operands, stored, sums)
    launch(head_attention_kernel, what, call.sizes.symbols, operands)
    return found, sums


@repeated
def attention_backward(  # noqa: PLR0913 - one word for each variant
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    result: torch.Tensor,
    lse: torch.Tensor,
    grad: torch.Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    bias: torch.Tensor | None = None,
    slopes: torch.Tensor | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    layout: str = "bhsd",
    out: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of query, key and value of `attention`; not of bias and slopes.

    Two kernels: tiles of queries, then tiles of keys, each summed by one workgroup, so
    that a call gives the same bits each time. Heads that share keys are summed in f32.

    Args:
        query: This, key, value and what has a default as `attention` was given them.
        key: As there.
        value: As there.
        result: What `attention_with_lse` returned.
        lse: And the other that it returned.
        grad: The gradient of ``result``, of its shape and type.
        causal: As in `attention`.
        window: As there.
        bias: As there.
        slopes: As there.
        softcap: As there.
        scale: As there.
        layout: As there.
        out: Takes the gradients.

    Returns:
        Gradients of the shapes and type of query, key and value; within 2e-3 of the
        largest element in float16, 2e-2 in bfloat16, to which the gradients of scores
        are rounded. Queries that see no key have, and give, zeros. Where ``grad`` is
        infinite they are infinite or NaN, as in FlashAttention 2; autograd has NaN.

    Raises:
        LaunchError: As `attention`.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import attention_backward, attention_with_lse
        >>> rows = torch.eye(2, dtype=torch.float16).view(1, 1, 2, 2)
        >>> found = attention_with_lse(rows, rows, rows, causal=True)
        >>> attention_backward(rows, rows, rows, *found, rows, causal=True)[2].shape
        torch.Size([1, 1, 2, 2])
    """
    variant = Variant(causal, window, bias, slopes, softcap, scale, layout)
    call = Call.of("attention_backward", query, key, value, variant)
    given, sizes = call.given, call.sizes
    rows = (
        given.tensor("result", result, sizes.output),
        given.tensor("grad", grad, sizes.output),
        given.tensor("lse", lse, sizes.sums, torch.float32),
    )
    into = out or (None, None, None)
    shapes = (sizes.query, sizes.key, sizes.value)
    found = tuple(
        given.result(taken, shape, query.dtype)
        for taken, shape in zip(into, shapes, strict=True)
    )
    if not grad.numel() or not sizes.keys:
        return found[0].zero_(), found[1].zero_(), found[2].zero_()
    _launch(call, rows, found)
    return found[0], found[1], found[2]


def _launch(
    call: Call, rows: tuple[torch.Tensor, ...], found: Sequence[torch.Tensor]
) -> None:
    """Gradients of queries, then of the other two, which read ``delta``."""
    sizes, (result, grad, lse) = call.sizes, rows
    read, (dquery, *others) = (*call.operands, grad, lse), found
    symbols = {**sizes.symbols, "DK": sizes.d, "DN": sizes.dv}
    delta = torch.empty_like(lse)
    launch(
        query_gradient_kernel,
        call.what,
        {name: size for name, size in symbols.items() if name != "DN"},
        (*read, result, delta, dquery),
    )
    parts = others if sizes.group == 1 else [_apart(sizes, each) for each in others]
    launch(key_gradient_kernel, call.what, symbols, (*read, delta, *parts))
    for into, part in zip(others, parts, strict=True):
        if part is not into:
            into.copy_(sizes.together(part))


def _apart(sizes: Sizes, shared: torch.Tensor) -> torch.Tensor:
    """What takes the gradients of a head of keys, one from each head of queries."""
    return shared.new_empty(sizes.apart(shared), dtype=torch.float32)
