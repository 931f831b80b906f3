"""Numbers of rows and columns, of either type that torch has for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_kernels.functions.arguments import Arguments

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

NUMBERS = torch.iinfo(torch.int32)
"""What kernels read an index as."""


def indices_of(
    given: Arguments, name: str, value: Any, shape: Sequence[int]
) -> torch.Tensor:
    """A tensor of this shape, of int64 or int32.

    Raises:
        LaunchError: WV0704, WV0705, WV0707, WV0708 for what does not fit.
    """
    wide = getattr(value, "dtype", None) == torch.int64
    return given.tensor(name, value, shape, torch.int64 if wide else torch.int32)


def in_32_bits(indices: torch.Tensor) -> torch.Tensor:
    """What kernels read; what does not fit is out of range before and after."""
    if indices.dtype == torch.int32:
        return indices
    return indices.clamp(NUMBERS.min, NUMBERS.max).int()
