"""Functions of rows: the last dimension of a tensor of any rank."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from wave_kernels.definitions.norms import layer_norm_kernel, rms_norm_kernel
from wave_kernels.definitions.rows import HELD
from wave_kernels.definitions.softmax import softmax_kernel
from wave_kernels.functions.arguments import Arguments
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.options import real
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import torch

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

LONGEST = HELD
"""Elements of a row for functions that have no other way than to hold it whole."""


@repeated
def softmax(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """``exp(x - max(x)) / sum(exp(x - max(x)))`` along the last dimension.

    Args:
        x: ``[..., N]``, float32, float16 or bfloat16. Rows of more than 32,768 elements
            are read more than once.
        out: Takes the result, of x's shape and type; a new tensor by default.

    Returns:
        The result, computed in f32 and rounded once. Accuracy: 1e-5 of each result,
        and half a unit in the last place of its type. A row with NaN or plus infinity
        becomes NaN, as in torch.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import softmax
        >>> softmax(torch.zeros(2, 4))
        tensor([[0.2500, 0.2500, 0.2500, 0.2500],
                [0.2500, 0.2500, 0.2500, 0.2500]])
    """
    return _of_rows("softmax", softmax_kernel, x, {}, {}, out)


@repeated
def rms_norm(
    x: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float = 1e-5,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``x / sqrt(mean(x * x) + eps) * weight`` along the last dimension.

    Args:
        x: ``[..., N]``, float32, float16 or bfloat16. Rows of more than 32,768 elements
            are read more than once.
        weight: ``[N]``, of x's type.
        eps: Added to the mean, so that rows of zeros have a norm.
        out: Takes the result, of x's shape and type; a new tensor by default.

    Returns:
        The result, computed in f32 and rounded once. Accuracy: 1e-5 of the row's
        largest result, and half a unit in the last place of its type.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import rms_norm
        >>> rms_norm(torch.tensor([[3.0, 3.0]]), torch.tensor([1.0, 2.0]))
        tensor([[1.0000, 2.0000]])
    """
    columns, added = {"weight": weight}, {"eps": eps}
    return _of_rows("rms_norm", rms_norm_kernel, x, columns, added, out)


@repeated
def layer_norm(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    *,
    eps: float = 1e-5,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias`` along the last dimension.

    Args:
        x: ``[..., N]``, float32, float16 or bfloat16. Rows of more than 32,768 elements
            are read more than once.
        weight: ``[N]``, of x's type.
        bias: ``[N]``, of x's type.
        eps: Added to the variance, so that constant rows have a norm.
        out: Takes the result, of x's shape and type; a new tensor by default.

    Returns:
        The result, computed in f32 and rounded once. Accuracy: as `rms_norm`.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import layer_norm
        >>> layer_norm(torch.tensor([[1.0, 3.0]]), torch.ones(2), torch.zeros(2))
        tensor([[-1.0000,  1.0000]])
    """
    columns = {"weight": weight, "bias": bias}
    return _of_rows("layer_norm", layer_norm_kernel, x, columns, {"eps": eps}, out)


def _of_rows(
    function: str,
    make: Callable[..., Any],
    x: torch.Tensor,
    columns: Mapping[str, torch.Tensor],
    added: Mapping[str, float],
    out: torch.Tensor | None,
) -> torch.Tensor:
    """A kernel's outcome for each row of x, with vectors of one number a column."""
    given = Arguments.of(function, "x", x)
    if x.ndim == 0:
        given.refuse("WV0706", "`x` has no dimension", "give one row, or more")
    numbers = [real(given, name, number) for name, number in added.items()]
    *lead, length = x.shape
    vectors = [given.tensor(n, v, (length,)) for n, v in columns.items()]
    found = given.result(out, x.shape, x.dtype)
    if not x.numel():
        return found
    rows = (prod(lead), length)
    arguments = (x.reshape(rows), *vectors, *numbers, found.view(rows))
    fields = {"dtype": DTYPES[x.dtype], **form_of(length)}
    launch(make, fields, dict(zip("MN", rows, strict=True)), arguments)
    return found


def form_of(length: int) -> dict[str, bool]:
    """What kernels of rows are told of rows so long."""
    return {"long": True} if length > HELD else {}
