"""Numbers of microscaling formats on the host: bytes of elements and of scales.

A matrix ``[rows, K]`` is stored as bytes ``[rows, K * bits / 8]`` and one scale for
each 32 elements of a row, ``[rows, K / 32]``. Source: OCP Microscaling Formats (MX)
Specification 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from wave_core.types import DType

BLOCK = 32
"""Elements that share a scale."""

BIAS = 127
"""Of a scale: the byte of 1."""


def codes(data: np.ndarray, bits: int) -> np.ndarray:
    """The bits of each element, in a byte each.

    Args:
        data: Bytes, ``[rows, K * bits / 8]``; the first element has the lowest bits.
        bits: Of an element.

    Returns:
        ``[rows, K]``, uint8.
    """
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    stream = np.unpackbits(data.view(np.uint8), axis=-1, bitorder="little")
    each = stream.reshape(data.shape[0], -1, bits)
    return np.packbits(each, axis=-1, bitorder="little")[..., 0]


def numbers(data: np.ndarray, scales: np.ndarray, dtype: DType) -> np.ndarray:
    """The numbers that bytes of elements and scales stand for.

    Args:
        data: Bytes, ``[rows, K * bits / 8]``.
        scales: Bytes, ``[rows, K / 32]``; 255 is NaN.
        dtype: Of the elements.

    Returns:
        ``[rows, K]``, f64.
    """
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    elements = codes(data, dtype.bits).view(dtype.numpy()).astype(np.float64)
    bytes_ = scales.view(np.uint8).astype(np.float64)
    factors = np.where(bytes_ == 255, np.nan, np.exp2(bytes_ - BIAS))
    return elements * factors.repeat(BLOCK, axis=-1)
