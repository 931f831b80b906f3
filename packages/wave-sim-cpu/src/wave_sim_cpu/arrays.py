"""Names for numpy types."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array of any element type."""

Index = npt.NDArray[np.int64]
"""An array of integers."""

Bits = npt.NDArray[np.bool_]
"""An array of truth values."""
