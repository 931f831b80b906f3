"""Mixtures of experts: a layer of which each token takes a few parts."""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.experts import (
    choices_of,
    combine_tokens,
    group_tokens,
    route_tokens,
)
from wave_kernels.functions.grouped_products import grouped_matmul, grouped_swiglu
from wave_kernels.functions.products import matmul
from wave_kernels.functions.repeated import repeated

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def moe(
    x: torch.Tensor,
    router: torch.Tensor,
    gate_up: torch.Tensor,
    down: torch.Tensor,
    top_k: int,
    *,
    scores: str = "softmax",
    normalised: bool = True,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """A mixture of experts with SwiGLU: each token goes to ``top_k`` of E experts.

    ``sum_e weight_e * down[e] (silu(gate[e] x) * up[e] x)`` over the experts e of a
    token, by `matmul`, `route_tokens`, `group_tokens`, `grouped_swiglu`,
    `grouped_matmul` and `combine_tokens`, one launch each and none that waits.

    Args:
        x: ``[..., D]``, float32, float16 or bfloat16.
        router: ``[E, D]``, of x's type; E at most 1,024.
        gate_up: ``[E, 2 * H, D]``, of x's type: rows of the gate, then of up.
        down: ``[E, D, H]``, of x's type.
        top_k: Experts of a token, at most E and 32.
        scores: As in `route_tokens`.
        normalised: As in `route_tokens`.
        out: Takes the result, of x's shape and type; a new tensor by default.

    Returns:
        ``[..., D]``. Logits are f32; the hidden row of each expert and what it gives
        are rounded to x's type. Accuracy, where no two logits are closer than their
        sums are exact: 1e-5 of the largest result in f32, 1e-2 in float16, 5e-2 in
        bfloat16.

    Raises:
        LaunchError: WV0704 to WV0709, WV0712, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import moe
        >>> router = torch.eye(2)
        >>> gate_up = torch.full((2, 2, 2), 100.0)
        >>> down = torch.tensor([1.0, 2.0]).view(2, 1, 1).expand(2, 2, 1) / 1e4
        >>> moe(torch.eye(2), router, gate_up, down.contiguous(), 1)
        tensor([[1., 1.],
                [2., 2.]])
    """
    given = check_layer(x, router, gate_up, down, top_k, scores)
    experts, _, hidden = down.shape
    found = given.result(out, x.shape, x.dtype)
    if not found.numel() or not hidden:
        return found.zero_()
    tokens = x.reshape(prod(x.shape[:-1]), x.shape[-1])
    logits = matmul(tokens, router.mT, out_dtype=torch.float32)
    routed = route_tokens(logits, top_k, scores=scores, normalised=normalised)
    groups = group_tokens(routed.experts, experts, checked=False)
    _, places, starts = groups
    rows = grouped_swiglu(tokens, gate_up.mT, starts, rows=groups.tokens, checked=False)
    results = grouped_matmul(rows, down.mT, starts, checked=False)
    into = found.view(tokens.shape)
    combine_tokens(results, places, routed.weights, checked=False, out=into)
    return found


def check_layer(
    x: Any, router: Any, gate_up: Any, down: Any, top_k: int, scores: str
) -> Arguments:
    """The arguments of `moe`, seen to fit each other.

    Raises:
        LaunchError: WV0704 to WV0708, WV0714 where they do not.
    """
    given = Arguments.of("moe", "x", x)
    if x.ndim == 0:
        given.refuse("WV0706", "`x` has no dimension", "give one token, or more")
    experts, _ = shape_of(given, "router", router, "ED")
    *_, hidden = shape_of(given, "down", down, "EDH")
    width = x.shape[-1]
    given.fitting("router", router, (experts, width))
    given.fitting("gate_up", gate_up, (experts, 2 * hidden, width))
    given.fitting("down", down, (experts, width, hidden))
    choices_of(given, top_k, experts, scores)
    return given
