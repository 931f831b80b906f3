"""Cross entropy of rows."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import torch

from wave_kernels.definitions.cross_entropy import cross_entropy_kernel
from wave_kernels.functions.arguments import Arguments
from wave_kernels.functions.indices import NUMBERS, in_32_bits, indices_of
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.options import real, whole
from wave_kernels.functions.repeated import repeated

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


class Losses(NamedTuple):
    """How far rows of logits are from their targets.

    Attributes:
        loss: ``[...]``, float32, one a row.
        lse: ``[...]``, float32: ``log(sum(exp(logits)))`` of each row.
    """

    loss: torch.Tensor
    lse: torch.Tensor


@repeated
def cross_entropy(
    logits: torch.Tensor,
    targets: torch.Tensor,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    checked: bool = True,
) -> Losses:
    """``lse - logits[target]`` of each row, with ``lse = log(sum(exp(logits)))``.

    With smoothing s it is ``lse - (1 - s) logits[target] - s mean(logits)``, as in
    `torch.nn.functional.cross_entropy` with ``reduction="none"``.

    Args:
        logits: ``[..., N]``, float32, float16 or bfloat16; N from 1 on.
        targets: ``[...]``, int64 or int32: a column of each row, or ``ignore_index``.
        ignore_index: Rows with this target have loss 0, and no gradient.
        label_smoothing: From 0 to 1.
        checked: Whether targets are looked at first, which waits for a GPU. Otherwise
            a row whose target is no column has loss NaN.

    Returns:
        `Losses`: loss and lse, float32. Accuracy: 1e-5 of the greatest absolute logit
        of the row, or of 1. A row with NaN or plus infinity becomes NaN.

    Raises:
        LaunchError: WV0704 to WV0708, WV0714 for arguments that do not fit; WV0707 for
            targets that are no columns.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import cross_entropy
        >>> loss, _ = cross_entropy(torch.zeros(2, 4), torch.tensor([3, -100]))
        >>> loss
        tensor([1.3863, 0.0000])
    """
    given = Arguments.of("cross_entropy", "logits", logits)
    if logits.ndim == 0:
        given.refuse("WV0706", "`logits` has no dimension", "give one row, or more")
    label_smoothing = real(given, "label_smoothing", label_smoothing)
    if not 0.0 <= label_smoothing <= 1.0:
        what = f"`label_smoothing` is {label_smoothing}"
        given.refuse("WV0707", what, "it is from 0 to 1")
    bounds = NUMBERS.min, NUMBERS.max
    ignore_index = whole(given, "ignore_index", ignore_index, *bounds)
    *lead, length = logits.shape
    columns = indices_of(given, "targets", targets, lead)
    found = Losses(*(given.result(None, lead, torch.float32) for _ in range(2)))
    rows = prod(lead)
    if not rows:
        return found
    if not length:
        given.refuse("WV0707", "rows of `logits` are empty", "give one column, or more")
    if checked:
        counted = columns[columns != ignore_index]
        advice = f"`logits` has columns 0 to {length - 1}"
        given.check_numbers("targets", counted, length, advice)
    launch(
        cross_entropy_kernel,
        {"dtype": DTYPES[logits.dtype], "smoothed": label_smoothing > 0},
        {},
        (
            logits.reshape(rows, length),
            in_32_bits(columns).view(rows),
            ignore_index,
            label_smoothing,
            *(each.view(rows) for each in found),
        ),
        dynamic="MN",
    )
    return found
