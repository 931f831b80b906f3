"""Functions of columns: all dimensions of a tensor but the last."""

from __future__ import annotations

from math import prod

import torch

from wave_kernels.definitions.columns import column_sums_kernel
from wave_kernels.functions.arguments import Arguments
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.options import stored_type
from wave_kernels.functions.repeated import repeated

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

PARTS = 256
"""Parts of the rows that are summed side by side, at most."""

SHORT = 32
"""Rows that one wave walks over: no more parts than leave it as many."""


@repeated
def column_sums(
    x: torch.Tensor,
    *,
    out_dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``sum(x)`` over all dimensions but the last.

    Many rows are summed in parts, side by side, and then the parts.

    Args:
        x: ``[..., N]``, float32, float16 or bfloat16.
        out_dtype: Of the result, one of these; x's by default.
        out: Takes the result; a new tensor by default.

    Returns:
        ``[N]``, summed in f32 and rounded once. Accuracy: 1e-5 of the sum of absolute
        values, and half a unit in the last place of its type.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import column_sums
        >>> column_sums(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([4., 6.])
    """
    given = Arguments.of("column_sums", "x", x)
    if x.ndim == 0:
        given.refuse("WV0706", "`x` has no dimension", "give one row, or more")
    stored = stored_type(given, "out_dtype", out_dtype, x.dtype)
    found = given.result(out, x.shape[-1:], stored)
    rows = prod(x.shape[:-1])
    if not x.numel():
        return found.zero_()
    parts = _parts(rows)
    matrix = x.reshape(parts, rows // parts, x.shape[-1]).contiguous()
    if parts > 1:
        between = torch.empty(parts, x.shape[-1], dtype=torch.float32, device=x.device)
        _sum(matrix, between)
        matrix = between[None]
    _sum(matrix, found[None])
    return found


def _parts(rows: int) -> int:
    """As many equal parts as are worth it."""
    most = min(PARTS, rows // SHORT)
    return next((parts for parts in range(most, 1, -1) if rows % parts == 0), 1)


def _sum(x: torch.Tensor, y: torch.Tensor) -> None:
    what = {"dtype": DTYPES[x.dtype], "result": DTYPES[y.dtype]}
    launch(column_sums_kernel, what, dict(zip("BMN", x.shape, strict=True)), (x, y))
