"""What floats may do: as is asked for, else as the kernel allows."""

from __future__ import annotations

import pytest

from wave_core.constraints import FastMath, fast_math_of

KEEPS, DROPS = FastMath(), FastMath(maxima_drop_nan=True)


@pytest.mark.parametrize(
    ("asked", "rows", "found"),
    [
        (None, [], None),
        (None, [KEEPS], KEEPS),
        (None, [DROPS], DROPS),
        (False, [DROPS], None),
        (True, [], DROPS),
        (True, [KEEPS], DROPS),
    ],
    ids=["nothing", "kept", "dropped", "forbidden", "asked", "asked-beyond"],
)
def test_the_option_decides_where_it_is_given(asked, rows, found):
    assert fast_math_of(asked, rows) == found
