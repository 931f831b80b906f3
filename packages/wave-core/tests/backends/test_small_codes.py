"""Numbers as bits of small floats, against what numpy's types make of them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from wave_core.backends.emission.floats import SATURATING, code_of
from wave_core.backends.emission.small import FORMATS
from wave_core.types import DTYPES


def ours(values, dtype):
    return np.array([code_of(float(value), dtype) for value in values], np.uint8)


@pytest.mark.parametrize("name", FORMATS)
def test_codes_are_those_of_numpy(name):
    """All numbers, those halfway between two, their neighbours, and some at random."""
    dtype = DTYPES[name]
    kind, greatest = dtype.numpy(), float(ml_dtypes.finfo(dtype.numpy()).max)
    codes = np.arange(1 << dtype.bits, dtype=np.uint8)
    known = np.unique(codes.view(kind).astype(np.float64))
    known = known[np.isfinite(known)]
    between = (known[1:] + known[:-1]) / 2
    # Numbers of f32: what is between two of them numpy rounds twice.
    ends = np.float32([-np.inf, np.inf])
    near = [np.nextafter(between.astype(np.float32), end) for end in ends]
    drawn = np.random.default_rng().normal(0, greatest / 3, 400).astype(np.float32)
    given = np.concatenate([known, between, *near, drawn, [0.0, -0.0]])
    given = given[np.abs(given) <= greatest]
    expected = given.astype(kind).view(np.uint8)
    np.testing.assert_array_equal(ours(given, dtype), expected)


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_no_number_of_the_type_is_what_the_table_says(name):
    dtype, row = DTYPES[name], FORMATS[name]
    above = row.greatest if name in SATURATING else row.above
    found = ours([1e9, np.inf, np.nan], dtype)
    assert [*found] == [above, above, row.nan]
    sign = 1 << dtype.bits - 1
    assert code_of(-1e9, dtype) == above | sign
