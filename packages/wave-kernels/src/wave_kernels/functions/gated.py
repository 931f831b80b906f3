"""Gated activations."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from wave_kernels.definitions.epilogue import check_activation
from wave_kernels.definitions.gated import gated_kernel
from wave_kernels.functions.arguments import Arguments
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    import torch

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def gated_activation(
    x: torch.Tensor, activation: str = "silu", *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """``activation(x[..., :N]) * x[..., N:]``, of rows with 2N elements.

    Args:
        x: ``[..., 2N]``, float32, float16 or bfloat16: gates, then what they let pass.
        activation: ``silu`` (SwiGLU), ``gelu`` by erf (GEGLU), ``relu`` (ReGLU),
            ``sigmoid`` (GLU) or ``tanh``.
        out: Takes the result, ``[..., N]`` of x's type; a new tensor by default.

    Returns:
        The result, computed in f32 and rounded once. Accuracy: 1e-5 of each result, and
        half a unit in the last place of its type.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.
        UserError: WV0823 for an unknown activation.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import gated_activation
        >>> gated_activation(torch.tensor([-1.0, 2.0, 3.0, 4.0]), "relu")
        tensor([0., 8.])
    """
    given = Arguments.of("gated_activation", "x", x)
    if x.ndim == 0:
        given.refuse("WV0706", "`x` has no dimension", "give one row, or more")
    *lead, length = x.shape
    if length % 2:
        what = f"rows of `x` have {length} elements"
        given.refuse("WV0707", what, "give an even number: two halves")
    check_activation(activation)
    kernel = {"activation": activation, "dtype": DTYPES[x.dtype]}
    found = given.result(out, (*lead, length // 2), x.dtype)
    if found.numel():
        rows = prod(lead)
        arguments = x.reshape(rows, length), found.view(rows, length // 2)
        launch(gated_kernel, kernel, {}, arguments, dynamic=("M", "N", "PAIR"))
    return found
