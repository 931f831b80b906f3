"""Arguments of a kernel as tensors of torch."""

from __future__ import annotations

from typing import Any

import numpy as np


def tensor_of(argument: Any, device: str = "cuda") -> Any:
    """A tensor with the elements of an array; numbers stay numbers.

    Types that numpy has from ``ml_dtypes`` have the same names in torch.
    """
    import torch  # noqa: PLC0415 - only peers need tensors

    if not hasattr(argument, "shape"):
        return argument
    array: Any = np.ascontiguousarray(argument)
    kind: Any = getattr(torch, array.dtype.name)
    raw = torch.frombuffer(bytearray(array.tobytes()), dtype=torch.uint8)
    return raw.to(device).view(kind).reshape(array.shape)


def has_gpu() -> bool:
    """Whether torch has a GPU here."""
    import torch  # noqa: PLC0415 - as above

    return torch.cuda.is_available()
