"""Running sums of rows, and their greatest elements."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import torch

from wave_kernels.definitions.ordered import cumsum_kernel, topk_kernel
from wave_kernels.functions.arguments import Arguments
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.options import flag, whole
from wave_kernels.functions.rows import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

MOST = 32
"""Elements that are picked; each takes two reductions."""


class Top(NamedTuple):
    """The greatest elements of rows.

    Attributes:
        values: ``[..., k]``, the greatest first.
        indices: ``[..., k]``, int32: where they are in their row.
    """

    values: torch.Tensor
    indices: torch.Tensor


def cumsum(
    x: torch.Tensor,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The sum of each element and all before it along the last dimension.

    Args:
        x: ``[..., N]``, float32, float16 or bfloat16; N at most 32,768.
        exclusive: Leave out the element itself: the first sum is 0.
        reverse: Each element and all after it.
        out: Takes the result, of x's shape and type; a new tensor by default.

    Returns:
        The result, summed in f32 and rounded once. Accuracy: 1e-6 of the row's sum of
        absolute values, and half a unit in the last place of its type.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import cumsum
        >>> cumsum(torch.tensor([1.0, 2.0, 3.0]))
        tensor([1., 3., 6.])
    """
    given = Arguments.of("cumsum", "x", x)
    rows = _rows(given, x)
    flags = {
        "exclusive": flag(given, "exclusive", exclusive),
        "reverse": flag(given, "reverse", reverse),
    }
    found = given.result(out, x.shape, x.dtype)
    if x.numel():
        launch(
            cumsum_kernel,
            {"dtype": DTYPES[x.dtype], **flags},
            {"N": rows[1]},
            (x.reshape(rows), found.view(rows)),
            dynamic="M",
        )
    return found


def topk(x: torch.Tensor, k: int) -> Top:
    """The k greatest elements along the last dimension, and where they are.

    Args:
        x: ``[..., N]``, float32, float16 or bfloat16; N at most 32,768.
        k: From 1 to 32, and at most N.

    Returns:
        `Top`: values and indices, the greatest first. Of equal elements that with the
        lower index comes first; NaN is greater than all. Accuracy: exact.

    Raises:
        LaunchError: WV0704 to WV0707, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import topk
        >>> topk(torch.tensor([1.0, 3.0, 2.0, 3.0]), 2)
        Top(values=tensor([3., 3.]), indices=tensor([1, 3], dtype=torch.int32))
    """
    given = Arguments.of("topk", "x", x)
    rows = _rows(given, x)
    k = whole(given, "k", k, 1, min(rows[1], MOST))
    shape = (*x.shape[:-1], k)
    found = Top(*(given.result(None, shape, t) for t in (x.dtype, torch.int32)))
    if x.numel():
        launch(
            topk_kernel,
            {"dtype": DTYPES[x.dtype]},
            {"N": rows[1], "TOP": k},
            (x.reshape(rows), *(each.view(rows[0], k) for each in found)),
            dynamic="M",
        )
    return found


def _rows(given: Arguments, x: torch.Tensor) -> Sequence[int]:
    """How many rows there are, and how long they are."""
    if x.ndim == 0:
        given.refuse("WV0706", "`x` has no dimension", "give one row, or more")
    *lead, length = x.shape
    if length > LONGEST:
        advice = f"a row is held whole, which it can be up to {LONGEST}"
        given.refuse("WV0707", f"rows of `x` have {length} elements", advice)
    return prod(lead), length
