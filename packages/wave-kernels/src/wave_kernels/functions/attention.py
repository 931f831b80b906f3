"""Attention over heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_kernels.definitions.attention import head_attention_kernel
from wave_kernels.functions.attention_calls import Call, Variant
from wave_kernels.functions.launches import launch
from wave_kernels.functions.repeated import repeated
from wave_kernels.functions.split_attention import attend_in_parts, parts_of

if TYPE_CHECKING:
    import torch

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def attention(  # noqa: PLR0913 - one word for each variant
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
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``softmax(scores) value``, where nothing hides all keys of a query.

    ``scores = cap(scale * query key^T) + bias - slopes * distance``. The last query
    stands at the last key: query m of M is at key ``m + S - M`` of S, as in
    FlashAttention 2, and as `torch.nn.attention.bias.causal_lower_right` has it, while
    ``is_causal=True`` of torch puts query 0 at key 0. ``distance`` is how far a key is
    from there.

    Args:
        query: ``[B, H, M, D]``, float16 or bfloat16; D from 1 to 256.
        key: ``[B, KVH, S, D]``, of query's type. KVH divides H: equally many heads of
            queries, one after the other, share a head of keys and values.
        value: ``[B, KVH, S, DV]``, of query's type; DV at most 256.
        causal: Whether a query sees no key behind its place.
        window: How many keys a query sees on each side, its own place among them.
        bias: Added to scores, ``[B, H, M, S]`` or what broadcasts to it, of query's
            type; minus infinity hides a key, as in bfloat16 all below -2.3e38 does.
        slopes: ``[H]``, float32: ALiBi.
        softcap: ``cap(x) = softcap * tanh(x / softcap)``.
        scale: ``1 / sqrt(D)`` by default.
        layout: ``bshd`` where heads come behind the sequence, of all of query, key,
            value and the result.
        out: Takes the result, of query's shape with DV channels, and query's type.

    Returns:
        ``[B, H, M, DV]``. Queries that see no key, or only scores of minus infinity,
        are zeros, as in torch. Accuracy: 1e-3 of the largest value in float16, 8e-3 in
        bfloat16, to which powers are rounded, and half a unit in the last place. A NaN
        or infinity among what a query sees makes of its result what torch makes of it;
        one among values of keys that are hidden may do so too.

        For each set of sizes and numbers a kernel is compiled, once. Where the queries
        of heads that share keys are 64 at most, it serves any B and S; many keys are
        cut in parts then, so that the whole GPU reads them, and a second kernel merges
        what these give. A call gives the same bits each time.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import attention
        >>> rows = torch.eye(2, dtype=torch.float16).view(1, 1, 2, 2)
        >>> attention(rows, rows, rows, causal=True, scale=0.0)
        tensor([[[[1.0000, 0.0000],
                  [0.5000, 0.5000]]]], dtype=torch.float16)
    """
    variant = Variant(causal, window, bias, slopes, softcap, scale, layout)
    call = Call.of("attention", query, key, value, variant)
    found = call.given.result(out, call.sizes.output, query.dtype)
    if not found.numel() or not call.sizes.keys:
        return found.zero_()
    if parts := parts_of(call):
        attend_in_parts(call, parts, found)
        return found
    operands = (*call.operands, found)
    launch(head_attention_kernel, call.what, call.sizes.symbols, operands)
    return found
