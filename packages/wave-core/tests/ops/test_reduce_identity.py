"""The identity of a reduction is a number of the element type, and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from wave_core.ops.reduce import KINDS, identity_value
from wave_core.types import DTYPES

COMBINE = {"sum": np.add, "max": np.maximum, "min": np.minimum}
FLOATS = [
    t
    for t in DTYPES.values()
    if t.is_float and t.name != "f8e8m0fnu" and not t.is_packed
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_identity(dtype, kind):
    start = np.asarray(identity_value(kind, dtype)).astype(dtype.numpy())
    numbers = np.linspace(-1000, 1000, 99).astype(dtype.numpy())
    numbers = numbers[~np.isnan(numbers.astype(np.float64))]
    assert not np.isnan(start.astype(np.float64))
    assert (COMBINE[kind](numbers, start) == numbers).all()
