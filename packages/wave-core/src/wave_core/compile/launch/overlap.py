"""Whether elements share memory: within one array, and between two."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_runtime.arrays import ArrayView

#: Elements up to which offsets are counted one by one.
_COUNTED = 1 << 22

#: Work that numpy may spend on one exact answer; beyond it, overlap is assumed.
_EXACT_WORK = 100_000


class _Addresses:
    """Memory of any device as an array that nobody reads."""

    def __init__(self, seen: ArrayView) -> None:
        self.__array_interface__ = seen.interface


def overlaps_itself(seen: ArrayView) -> bool:
    """Whether two elements share memory, or may, where it is too hard."""
    count = math.prod(seen.shape)
    if count < 2:
        return False
    rows = sorted(
        (abs(stride), size)
        for size, stride in zip(seen.shape, seen.strides, strict=True)
        if size > 1
    )
    reach = seen.item_bytes
    nested = True
    for stride, size in rows:
        nested = nested and stride >= reach
        reach += (size - 1) * stride
    return not nested and (
        rows[0][0] < seen.item_bytes or count > _COUNTED or _repeats(rows)
    )


def _repeats(rows: list[tuple[int, int]]) -> bool:
    """Whether two positions have one offset; strides are multiples of elements."""
    offsets = np.zeros(1, dtype=np.int64)
    for stride, size in rows:
        steps = np.arange(size, dtype=np.int64) * stride
        offsets = np.add.outer(offsets, steps).reshape(-1)
    return len(np.unique(offsets)) < len(offsets)


def overlap(one: ArrayView, other: ArrayView) -> bool:
    """Whether two arrays share an element's memory, or may, where it is too hard."""
    if not (all(one.shape) and all(other.shape)):
        return False
    first, second = (np.asarray(_Addresses(each)) for each in (one, other))
    if not np.may_share_memory(first, second):
        return False
    try:
        return bool(np.shares_memory(first, second, max_work=_EXACT_WORK))  # pyright: ignore[reportArgumentType] - any integer, says numpy's manual
    except np.exceptions.TooHardError:
        return True
