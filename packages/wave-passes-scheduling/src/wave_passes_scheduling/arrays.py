"""Types of the arrays that the algorithms work on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]
"""Integers: cycles, delays, distances, counts."""

NO_PATH = np.int64(-(1 << 40))
"""The length of a path that is not there; sums of two stay far below any real one."""
