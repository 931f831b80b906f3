"""Rotary embedding."""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from wave_kernels.definitions.rotary import rotary_kernel
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.indices import in_32_bits, indices_of
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.options import flag
from wave_kernels.functions.repeated import repeated

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

MOST_CHANNELS = 1024
"""A wave holds those of a head."""


@repeated
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
            D is at most 1,024.
        cos: ``[P, R]``, float32: the cosines of each position, one for each pair. Where
            2 R is less than D, channels from there on stay as they are.
        sin: The sines.
        positions: ``[..., T]``, int64 or int32: a row of the tables for each token; by
            default 0 to T - 1, of P or fewer.
        interleaved: Whether a pair is of neighbours, channels 2p and 2p + 1, as in
            GPT-J; otherwise of channels p and p + R, as in GPT-NeoX and Llama.
        checked: Whether positions are looked at first, which waits for a GPU. Otherwise
            pairs of a token whose position is no row become zeros.
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
    tables = _tables(given, cos, sin, channels)
    places = _places(given, positions, (*lead, tokens), len(cos), checked=checked)
    found = given.result(out, x.shape, x.dtype)
    if not x.numel() or not tables[0].shape[1]:
        return found.copy_(x)
    half, shape = tables[0].shape[1], (prod(lead) * tokens, heads, channels)
    rest = {"REST": channels - 2 * half} if channels > 2 * half else {}
    pairs = flag(given, "interleaved", interleaved)
    launch(
        rotary_kernel,
        {"dtype": DTYPES[x.dtype], "interleaved": pairs, "partial": bool(rest)},
        {"CHANNELS": channels, "HALF": half, **rest},
        (x.reshape(shape), *tables, in_32_bits(places).view(-1), found.view(shape)),
        dynamic=("TOKENS", "HEADS", "POSITIONS"),
    )
    return found


def _tables(
    given: Arguments, cos: Any, sin: Any, channels: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of equally many pairs, which heads have."""
    if channels > MOST_CHANNELS:
        what = f"heads of `x` have {channels} channels"
        given.refuse("WV0707", what, f"they can have {MOST_CHANNELS} at most")
    rows, half = shape_of(given, "cos", cos, ("P", "R"), torch.float32)
    if 2 * half > channels:
        what = f"`cos` is of {half} pairs"
        given.refuse("WV0707", what, f"heads of `x` have {channels} channels")
    return (
        given.tensor("cos", cos, (rows, half), torch.float32),
        given.tensor("sin", sin, (rows, half), torch.float32),
    )


def _places(
    given: Arguments,
    positions: Any,
    shape: tuple[int, ...],
    rows: int,
    *,
    checked: bool,
) -> torch.Tensor:
    """The row of the tables for each token; nobody has to look at the default's."""
    advice = f"`cos` has rows 0 to {rows - 1}"
    if positions is None:
        tokens = shape[-1]
        if checked and tokens > rows and prod(shape):
            given.refuse("WV0707", f"there are {tokens} tokens", advice)
        every = torch.arange(tokens, dtype=torch.int32, device=given.first.device)
        return every.expand(shape)
    places = indices_of(given, "positions", positions, shape)
    if checked:
        given.check_numbers("positions", places, rows, advice)
    return places
