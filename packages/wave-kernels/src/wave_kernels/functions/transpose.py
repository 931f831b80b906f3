"""Matrices with rows and columns exchanged."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from wave_kernels.definitions.transpose import BLOCK, transpose_kernel
from wave_kernels.functions.arguments import Arguments
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    import torch

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

MOST = 65_535
"""Workgroups on the other axes of a grid than the first. Source: CUDA C++ Programming
Guide."""


@repeated
def transpose(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """The last two dimensions exchanged, in memory too.

    Args:
        x: ``[..., M, N]``, float32, float16 or bfloat16; up to 65,535 matrices, with up
            to 4,194,240 columns.
        out: Takes the result, ``[..., N, M]`` of x's type; a new tensor by default.

    Returns:
        The result, exact and contiguous.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import transpose
        >>> transpose(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1.],
                [2.],
                [3.]])
    """
    given = Arguments.of("transpose", "x", x)
    if x.ndim < 2:
        given.refuse("WV0706", f"`x` is {tuple(x.shape)}", "give `[..., M, N]`")
    *lead, height, width = x.shape
    found = given.result(out, (*lead, width, height), x.dtype)
    if not x.numel():
        return found
    many = prod(lead)
    if many > MOST or width > MOST * BLOCK:
        advice = f"give up to {MOST} matrices, of {MOST * BLOCK} columns"
        given.refuse("WV0707", f"`x` is {tuple(x.shape)}", advice)
    launch(
        transpose_kernel,
        {"dtype": DTYPES[x.dtype]},
        {},
        (x.reshape(many, height, width), found.view(many, width, height)),
        dynamic="BMN",
    )
    return found
