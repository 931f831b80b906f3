"""Attention by its formula, in f64, and how far from it kernels may be."""

from __future__ import annotations

import torch

ACCURACY = {torch.float16: 1e-3 + 2.0**-11, torch.bfloat16: 8e-3 + 2.0**-8}
"""Of the largest value: what is promised, and the rounding of the result."""


def attended(query, key, value, **variant):
    """Of ``[batch, heads, rows, channels]``, with the arguments of `attention`."""
    group = query.shape[1] // max(key.shape[1], 1)
    query, key, value = (each.double() for each in (query, key, value))
    key, value = (each.repeat_interleave(group, 1) for each in (key, value))
    scale = variant.get("scale", max(query.shape[-1], 1) ** -0.5)
    scores = query @ key.mT * scale
    if cap := variant.get("softcap"):
        scores = cap * torch.tanh(scores / cap)
    m, s = scores.shape[-2:]
    behind = torch.arange(m)[:, None] + s - m - torch.arange(s)
    if (bias := variant.get("bias")) is not None:
        scores = scores + bias.double()
    if (slopes := variant.get("slopes")) is not None:
        scores = scores - slopes.double()[:, None, None] * behind.abs()
    if variant.get("causal"):
        scores = scores.masked_fill(behind < 0, -torch.inf)
    if window := variant.get("window"):
        scores = scores.masked_fill(behind.abs() >= window, -torch.inf)
    none = (scores == -torch.inf).all(-1, keepdim=True)
    return torch.where(none, 0.0, scores.softmax(-1)) @ value


def assert_accurate(found, right, value):
    """See that what was found of a kernel's values is as accurate as promised."""
    largest = value.abs().max().double() if value.numel() else 1.0
    torch.testing.assert_close(
        found.double(), right, atol=ACCURACY[found.dtype] * float(largest), rtol=0
    )
