"""Whether elements share memory: within one array, and between two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

#: Elements up to which offsets are counted one by one.
_COUNTED = 1 << 22

#: Work that numpy may spend on one exact answer; beyond it, overlap is assumed.
_EXACT_WORK = 100_000


def overlaps_itself(array: npt.NDArray[Any]) -> bool:
    """Whether two elements of ``array`` share memory, or may, where it is too hard."""
    if array.size < 2:
        return False
    rows = sorted(
        (abs(stride), size)
        for size, stride in zip(array.shape, array.strides, strict=True)
        if size > 1
    )
    reach = array.itemsize
    nested = True
    for stride, size in rows:
        nested = nested and stride >= reach
        reach += (size - 1) * stride
    return not nested and (
        rows[0][0] < array.itemsize or array.size > _COUNTED or _repeats(rows)
    )


def _repeats(rows: list[tuple[int, int]]) -> bool:
    """Whether two positions have one offset; strides are multiples of elements."""
    offsets = np.zeros(1, dtype=np.int64)
    for stride, size in rows:
        steps = np.arange(size, dtype=np.int64) * stride
        offsets = np.add.outer(offsets, steps).reshape(-1)
    return len(np.unique(offsets)) < len(offsets)


def overlap(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Whether two arrays share an element's memory, or may, where it is too hard."""
    if not (one.size and other.size and np.may_share_memory(one, other)):
        return False
    try:
        return bool(np.shares_memory(one, other, max_work=_EXACT_WORK))  # pyright: ignore[reportArgumentType] - any integer, says numpy's manual
    except np.exceptions.TooHardError:
        return True
