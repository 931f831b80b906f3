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
Words: TypeAlias = NDArray[np.uint32]

#: Which waves execute: all of them, or ordinals.
Selection: TypeAlias = "slice | Ints"

#: The meaning of an instruction: operands to result.
Function: TypeAlias = Callable[..., Any]
