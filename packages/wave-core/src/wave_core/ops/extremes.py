"""The larger and the smaller of two elements, `maximum` and `minimum` of IEEE 754.

Those of 2019: NaN is the result where there is one, and 0 is above -0. numpy keeps the
zero that comes first, so that the order in which a reduction combines would tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Extreme:
    """One of the two, called and reduced with as a function of numpy's.

    Attributes:
        larger: Whether it is the maximum.
    """

    larger: bool

    def __call__(self, one: Any, other: Any) -> Any:
        """Of two arrays, element by element."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        found = (np.maximum if self.larger else np.minimum)(one, other)
        if found.dtype.kind != "f" or np.all(found):
            return found
        zeros = np.signbit(one), np.signbit(other)
        minus = zeros[0] & zeros[1] if self.larger else zeros[0] | zeros[1]
        signed = np.copysign(found, np.where(minus, -1, 1).astype(found.dtype))
        # Of numbers that are not equal the larger or smaller one has its own sign.
        return np.where((found == 0) & (one == other), signed, found)

    def reduce(
        self, data: Any, axis: int = 0, *, keepdims: bool = False, **more: Any
    ) -> Any:
        """Of all elements along an axis; ``more`` is numpy's."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        combine = np.maximum if self.larger else np.minimum
        found = combine.reduce(data, axis=axis, keepdims=keepdims, **more)
        if found.dtype.kind != "f" or np.all(found):
            return found
        # Zeros of the sign that wins: for the maximum, those without one.
        wins = (data == 0) & (np.signbit(data) != self.larger)
        some = np.logical_or.reduce(wins, axis=axis, keepdims=keepdims)
        minus = some != self.larger
        signed = np.copysign(found, np.where(minus, -1, 1).astype(found.dtype))
        return np.where(found == 0, signed, found)


MAXIMUM, MINIMUM = Extreme(larger=True), Extreme(larger=False)
