"""Rows in types of one byte."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import torch

from wave_kernels.definitions.quantize import GREATEST, LEAST_SCALE, quantize_kernel
from wave_kernels.functions.arguments import Arguments
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.options import one_of_types
from wave_kernels.functions.repeated import repeated
from wave_kernels.functions.rows import form_of

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

STORED = tuple(kept for kept, dtype in DTYPES.items() if dtype in GREATEST)


class Quantized(NamedTuple):
    """Rows as ``values * scales``.

    Attributes:
        values: ``[..., N]``, of one byte each.
        scales: ``[...]``, float32, one a row.
    """

    values: torch.Tensor
    scales: torch.Tensor


@repeated
def quantize_rows(x: torch.Tensor, dtype: torch.dtype) -> Quantized:
    """Each row over its scale, with which its greatest element becomes the type's.

    Args:
        x: ``[..., N]``, float32, float16 or bfloat16. Rows of more than 32,768 elements
            are read twice.
        dtype: int8, from -127 to 127; float8_e4m3fn, to 448; float8_e5m2, to 57,344.

    Returns:
        `Quantized`: values and scales. Scales are 2^-126 at least, so rows of zeros
        are zeros. Accuracy: 1e-6 of each scale, and of the quotients before they are
        rounded to the nearest number, or the even one of two. A row with NaN or
        infinity has such a scale; where a quotient is NaN, an int8 is 0.

    Raises:
        LaunchError: WV0704 to WV0707, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import quantize_rows
        >>> values, scales = quantize_rows(torch.tensor([[2.0, -1.0, 0.0]]), torch.int8)
        >>> values
        tensor([[127, -64,   0]], dtype=torch.int8)
    """
    given = Arguments.of("quantize_rows", "x", x)
    dtype = one_of_types(given, "dtype", dtype, STORED)
    if x.ndim == 0:
        given.refuse("WV0706", "`x` has no dimension", "give one row, or more")
    *lead, length = x.shape
    values = given.result(None, x.shape, dtype)
    scales = given.result(None, lead, torch.float32)
    if not x.numel():
        return Quantized(values, scales.fill_(LEAST_SCALE))
    rows = (prod(lead), length)
    launch(
        quantize_kernel,
        {"stored": DTYPES[dtype], "dtype": DTYPES[x.dtype], **form_of(length)},
        {"N": length},
        (x.reshape(rows), values.view(rows), scales.view(rows[0])),
        dynamic="M",
    )
    return Quantized(values, scales)
