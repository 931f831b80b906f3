"""Several products of four warps that begin with one value."""

from __future__ import annotations

import numpy as np
import pytest
from emulated_kernels import compiled

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
SIZES = {M: 64, N: 16, K: 16}
START = 3.0


def pair(*, computes: bool):
    """``c = a b^T + START`` and ``d = b' b^T + START``, neighbours or not."""
    constraints = [
        tkw.WorkgroupConstraint(M, M, 0),
        tkw.WorkgroupConstraint(N, N, 1),
        tkw.WaveConstraint(M, M),
        tkw.WaveConstraint(N, N),
        tkw.HardwareConstraint(mma_rows=64),
    ]

    @tkw.wave(constraints)
    def two_sums(
        a: tkl.Memory[M, K, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
        e: tkl.Memory[M, K, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, tkl.SHARED_ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
        d: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        start = tkl.Register[M, N, tkl.f32](START)
        first = tkw.mma(tkw.read(a), tkw.read(b), start)
        left = tkw.read(e)
        if computes:
            tkw.write(first, c)
            left = left + left
        second = tkw.mma(left, tkw.read(b), start)
        if not computes:
            tkw.write(first, c)
        tkw.write(second, d)

    return two_sums


@pytest.mark.parametrize("preset", ["naive", "default"])
@pytest.mark.parametrize("computes", [False, True])
def test_each_has_registers_of_its_own(computes, preset):
    made = compiled(pair(computes=computes), SIZES, "sm_90a", preset=preset)
    assert made.count("wgmma.mma_async") == 2
    rng = np.random.default_rng(3)
    a, e, b = (
        rng.integers(-4, 5, (rows, 16)).astype("float16") for rows in (64, 64, 16)
    )
    c, d = (np.full((64, 16), np.nan, "float32") for _ in range(2))
    assert made.run(a, e, b, c, d) == []
    left = 2 * e if computes else e
    for got, rows in ((c, a), (d, left)):
        wanted = rows.astype("float64") @ b.astype("float64").T + START
        np.testing.assert_array_equal(got, wanted)
