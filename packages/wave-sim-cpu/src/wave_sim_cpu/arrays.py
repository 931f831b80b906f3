"""Names for numpy types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from wave_core.ops.base import Op

Array = npt.NDArray[Any]
"""An array of any element type."""

Index = npt.NDArray[np.int64]
"""An array of integers."""

Bits = npt.NDArray[np.bool_]
"""An array of truth values."""


def misfit(op: Op, data: Array, full: tuple[int, ...]) -> str:
    """The reason that ``data`` is not the value of ``op``; empty where it is.

    Its shape is ``full``, with extents of 1 where all elements are equal.
    """
    shape, wanted = data.shape, op.register_type.dtype.numpy()
    if data.dtype != wanted:
        return f"it leaves elements of {data.dtype}, not {wanted}"
    if len(shape) == len(full) and all(
        extent in {1, most} for extent, most in zip(shape, full, strict=True)
    ):
        return ""
    return f"it leaves the shape {shape}, not {full}"
