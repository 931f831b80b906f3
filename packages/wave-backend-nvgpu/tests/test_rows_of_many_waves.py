"""Rows that many waves share: lanes read what each wave has, and combine it."""

from __future__ import annotations

import numpy as np
import pytest
from emulated_kernels import compiled

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N = tkl.sym.M, tkl.sym.N
ROWS, SHARE = 4, 64
FEW = 4
"""Waves that every lane reads itself."""


def reductions(dtype):
    """The sum, the largest and the least of each row, a wave having 64 columns."""
    constraints = [
        tkw.WorkgroupConstraint(M, ROWS, 1),
        tkw.WorkgroupConstraint(N, SHARE * ((N + SHARE - 1) // SHARE), 0),
        tkw.WaveConstraint(M, ROWS),
        tkw.WaveConstraint(N, SHARE),
        tkw.HardwareConstraint(vector_shapes={M: ROWS, N: SHARE}),
    ]

    @tkw.wave(constraints)
    def of_rows(
        a: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        total: tkl.Memory[M, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        most: tkl.Memory[M, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        least: tkl.Memory[M, tkl.GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        row = tkw.read(a)
        tkw.write(tkw.sum(row, dim=N), total)
        tkw.write(tkw.max(row, dim=N), most)
        tkw.write(tkw.min(row, dim=N), least)

    return of_rows


@pytest.mark.covering(1)
@pytest.mark.parametrize("dtype", [tkl.f32, tkl.i32, tkl.f16], ids=str)
@pytest.mark.parametrize("columns", [256, 257, 512, 700, 1000])
def test_each_row_is_reduced_over_all_waves(columns, dtype):
    """Whole numbers, whose sums are exact in any order."""
    made = compiled(reductions(dtype), {M: 7, N: columns})
    rng = np.random.default_rng(columns)
    a = rng.integers(-8, 9, (7, columns)).astype(dtype.numpy_name)
    found = [np.full(7, 99, a.dtype) for _ in range(3)]
    assert made.run(a, *found) == []
    wide = a.astype("float64")
    for got, want in zip(found, (wide.sum(1), wide.max(1), wide.min(1)), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("waves", [2, 4, 5, 7, 8, 16])
def test_powers_of_two_beyond_few_are_read_once(waves):
    """Each lane one wave's part; else each lane reads the part of every wave.

    Three reductions, of which a lane holds two rows.
    """
    made = compiled(reductions(tkl.f32), {M: ROWS, N: SHARE * waves})
    lanes = waves > FEW and waves & (waves - 1) == 0
    assert made.count("ld.shared") == 3 * 2 * (1 if lanes else waves)
