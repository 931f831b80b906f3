"""What operators do under `torch.autocast`: the same as torch's own of their kind."""

# Torch declares types for no function that takes functions.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_torch.ops.row import WaveOp

__wave_frames__ = "internal"
"""Messages point at the line that calls an operator."""

CAST = (torch.float32, torch.float16, torch.bfloat16)
"""Types that autocast exchanges; operands of one byte are what somebody made them."""


def register_autocast(
    row: WaveOp, names: Sequence[str], device: str, library: torch.library.Library
) -> None:
    """A rule for tensors of a device: cast arguments, then run without autocast."""
    operator = getattr(torch.ops.wave, row.name).default

    def run(*arguments: object) -> Any:
        dtype = torch.get_autocast_dtype(device) if row.narrowed else torch.float32
        given = zip(names, arguments, strict=False)
        cast = [
            _cast(a, dtype) if n in (row.narrowed or names) else a for n, a in given
        ]
        with torch.autocast(device, enabled=False):
            return operator(*cast)

    library.impl(row.name, run, f"Autocast{device.upper()}")


def _cast(value: object, dtype: torch.dtype) -> object:
    if isinstance(value, torch.Tensor) and value.dtype in CAST:
        return value.to(dtype)
    return value
