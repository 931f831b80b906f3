"""Rotary embedding."""

from __future__ import annotations

from math import prod

import torch

from wave_kernels.definitions.rotary import rotary_kernel
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.indices import in_32_bits, indices_of
from wave_kernels.functions.launches import DTYPES, launch

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

MOST_CHANNELS = 1024
"""A wave holds those of a head."""


def rotary_embedding(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    positions: torch.Tensor | None = None,
    *,
    interleaved: bool = False,
    checked: bool = True,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Pairs of channels ``(a, b)`` become ``(a cos - b sin, b cos + a sin)``.

    Args:
        x: ``[..., T, H, D]``, tokens, heads and channels: float32, float16 or bfloat16;
            D is even and at most 1,024.
        cos: ``[P, D / 2]``, float32: the cosines of each position, one for each pair.
        sin: The sines.
        positions: ``[..., T]``, int64 or int32: a row of the tables for each token; by
            default 0 to T - 1.
        interleaved: Whether a pair is of neighbours, channels 2p and 2p + 1, as in
            GPT-J; otherwise of channels p and p + D / 2, as in GPT-NeoX and Llama.
        checked: Whether positions are looked at first, which waits for a GPU. Otherwise
            a token whose position is no row becomes zeros.
        out: Takes the result, of x's shape and type; a new tensor by default.

    Returns:
        The result, computed in f32 and rounded once. Accuracy: 1e-6 of ``abs(a) +
        abs(b)``, and half a unit in the last place of its type.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit; WV0707 for
            positions that are no rows.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import rotary_embedding
        >>> x = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]])
        >>> rotary_embedding(x, torch.zeros(1, 2), torch.ones(1, 2))
        tensor([[[-3., -4.,  1.,  2.]]])
    """
    given = Arguments.of("rotary_embedding", "x", x)
    if x.ndim < 3:
        given.refuse("WV0706", f"`x` is {tuple(x.shape)}", "give `[..., T, H, D]`")
    *lead, tokens, heads, channels = x.shape
    if channels % 2 or channels > MOST_CHANNELS:
        advice = f"give an even number, at most {MOST_CHANNELS}"
        given.refuse("WV0707", f"heads of `x` have {channels} channels", advice)
    rows, _ = shape_of(given, "cos", cos, ("P", "D / 2"), torch.float32)
    tables = [
        given.tensor(name, table, (rows, channels // 2), torch.float32)
        for name, table in (("cos", cos), ("sin", sin))
    ]
    if positions is None:
        every = torch.arange(tokens, dtype=torch.int32, device=x.device)
        positions = every.expand(*lead, tokens)
    places = indices_of(given, "positions", positions, (*lead, tokens))
    found = given.result(out, x.shape, x.dtype)
    if not x.numel():
        return found
    if checked:
        given.check_numbers(
            "positions", places, rows, f"`cos` has rows 0 to {rows - 1}"
        )
    shape = (prod(lead) * tokens, heads, channels)
    launch(
        rotary_kernel,
        {"dtype": DTYPES[x.dtype], "interleaved": interleaved},
        {"CHANNELS": channels, "HALF": channels // 2},
        (x.reshape(shape), *tables, in_32_bits(places).view(-1), found.view(shape)),
        dynamic=("TOKENS", "HEADS", "POSITIONS"),
    )
    return found
