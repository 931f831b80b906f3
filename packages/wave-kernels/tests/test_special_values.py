"""NaN and infinities go through every public function as through torch's formula."""

from __future__ import annotations

import pytest
from boundaries.spoiling import CALLS, NO_FLOATS, ODD, check

from wave_kernels import functions


def test_every_public_function_is_looked_at():
    assert {call.function for call in CALLS.values()} | NO_FLOATS == {
        *functions.__all__
    }


@pytest.mark.covering(1)
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", CALLS)
def test_they_stand_where_torch_has_them(name, odd):
    check(name, odd)


@pytest.mark.fuzz
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", CALLS)
def test_narrow_types(name, odd):
    check(name, odd, -1)
