"""Running sums of rows, and their greatest elements."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import torch

from wave_kernels.definitions.ordered import (
    cumsum_kernel,
    long_cumsum_kernel,
    topk_kernel,
)
from wave_kernels.definitions.rows import HELD
from wave_kernels.functions.arguments import Arguments
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.options import flag, whole
from wave_kernels.functions.repeated import repeated

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


@repeated
def cumsum(
    x: torch.Tensor,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The sum of each element and all before it along the last dimension.

    Args:
        x: ``[..., N]``, float32, float16 or bfloat16. A row of more than 32,768
            elements is the work of one wave.
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
        what = {"dtype": DTYPES[x.dtype], **flags}
        given_to = (x.reshape(rows), found.view(rows))
        if rows[1] > HELD:
            launch(long_cumsum_kernel, what, {}, given_to, dynamic="MN")
        else:
            launch(cumsum_kernel, what, {"N": rows[1]}, given_to, dynamic="M")
    return found


@repeated
def topk(x: torch.Tensor, k: int) -> Top:
    """The k greatest elements along the last dimension, and where they are.

    Args:
        x: ``[..., N]``, float32, float16 or bfloat16. Of rows of more than 32,768
            elements those of equal parts are picked first.
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
        matrix, pairs = x.reshape(rows), Top(*(each.view(rows[0], k) for each in found))
        (_pick if rows[1] <= HELD else _pick_of_parts)(matrix, pairs)
    return found


def _pick(x: torch.Tensor, found: Top) -> None:
    """The greatest of rows that are held, ``[M, N]``, into ``[M, k]``."""
    what, sizes = (
        {"dtype": DTYPES[x.dtype]},
        {"N": x.shape[1], "TOP": found.values.shape[1]},
    )
    launch(topk_kernel, what, sizes, (x, *found), dynamic="M")


def _pick_of_parts(x: torch.Tensor, found: Top) -> None:
    """The same of longer rows: the greatest of the greatest of equal parts.

    What fills up the last part is no greater than anything and behind all of it, so
    that it is picked of no row.
    """
    (m, n), k = x.shape, found.values.shape[1]
    parts = -(-n // HELD)
    length = -(-n // parts)
    left = parts * length - n
    filled = torch.nn.functional.pad(x, (0, left), value=-torch.inf) if left else x
    each = Top(*(kind.new_empty(m * parts, k) for kind in found))
    _pick(filled.view(m * parts, length), each)
    first = torch.arange(parts, dtype=torch.int32, device=x.device)[:, None] * length
    columns = (each.indices.view(m, parts, k) + first).view(m, parts * k)
    again = Top(found.values, torch.empty_like(found.indices))
    few = each.values.view(m, parts * k)
    (_pick if parts * k <= HELD else _pick_of_parts)(few, again)
    torch.gather(columns, 1, again.indices.long(), out=found.indices)


def _rows(given: Arguments, x: torch.Tensor) -> Sequence[int]:
    """How many rows there are, and how long they are."""
    if x.ndim == 0:
        given.refuse("WV0706", "`x` has no dimension", "give one row, or more")
    *lead, length = x.shape
    return prod(lead), length
