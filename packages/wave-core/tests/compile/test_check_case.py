"""How results are compared with what they should be."""

from __future__ import annotations

import numpy as np
import pytest

from wave_core.compile.check_case import compare


def wrong(got, want, scale=None):
    return compare([np.array(got)], [np.array(want)], scale, 0.1).wrong


def test_errors_are_in_units_of_the_scale():
    assert wrong([1.0, 2.125], [1.0, 2.0]) == 0
    assert wrong([1.0, 2.25], [1.0, 2.0]) == 1
    assert wrong([1.0, 2.25], [1.0, 2.0], 4.0) == 0


@pytest.mark.parametrize("scale", [np.nan, np.inf])
def test_nothing_is_right_by_a_scale_that_is_no_number(scale):
    assert wrong([1.0, 2.0], [1.0, 2.0], scale) == 2
