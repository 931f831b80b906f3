"""Types of arrays, named once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: An array whose dtype depends on the instruction.
Array: TypeAlias = NDArray[Any]
Bools: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int64]

#: Operations on values, by how many they take.
One: TypeAlias = Callable[[Array], Array]
Two: TypeAlias = Callable[[Array, Array], Array]
Three: TypeAlias = Callable[[Array, Array, Array], Array]

#: Which threads execute: all of a batch, or their ordinals.
Selection: TypeAlias = "slice | Ints"


def some(mask: Bools) -> Bools:
    """Rows in which anything holds."""
    return np.logical_or.reduce(mask, axis=1)


def every(mask: Bools) -> Bools:
    """Rows in which everything holds."""
    return np.logical_and.reduce(mask, axis=1)
