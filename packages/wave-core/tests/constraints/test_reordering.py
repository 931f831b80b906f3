"""Reorderings that are, and are not, permutations of the grid."""

from __future__ import annotations

import pytest

import wave_core.lang as tkw
from wave_core.constraints.reordering import permutes_grid
from wave_core.symbols import symbol

G0, G1 = tkw.WORKGROUP_0, tkw.WORKGROUP_1
COUNT = tkw.sym.COUNT


@pytest.mark.parametrize(
    ("expr", "grid", "expected"),
    [
        (COUNT - 1 - G0, (5, 2), True),
        ((G0 + G1) % COUNT, (5, 2), True),
        (G0 // 2, (5, 2), False),
        (G0 + 1, (5, 2), False),
        (G0, (0, 3), True),
    ],
)
def test_every_workgroup_is_visited_once(expr, grid, expected):
    rows = [tkw.ReorderingConstraint(expr, 0)]
    assert permutes_grid(rows, grid, {symbol("COUNT"): 5}) is expected
