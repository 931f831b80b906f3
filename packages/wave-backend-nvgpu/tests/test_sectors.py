"""Results of 16 bits, which lanes exchange so that stores fill sectors."""

from __future__ import annotations

import numpy as np
import pytest
from emulated_kernels import compiled
from product_kernels import NUMPY, K, M, N, check, matrices
from test_warpgroup_library import TILES

import wave_core.lang as tkl
from wave_kernels.definitions.gemm import gemm_kernel

HALF = {"f16": 2.0**-11, "bf16": 2.0**-8}
"""How far a number may be from what it is rounded to, by its size."""


def gemm(sizes, result="bf16", columns=64, preset="default"):
    subs = dict(zip((*TILES, M, N, K), (128, columns, 64, 2, 1, *sizes), strict=True))
    subs[tkl.sym.ADDRESS_SPACE] = tkl.SHARED_ADDRESS_SPACE
    name, kind = f"F32_64x{columns}x16_F16", getattr(tkl, result)
    kernel = gemm_kernel(tkl.bf16, name, result=kind)
    return compiled(kernel, subs, "sm_90a", preset=preset)


@pytest.mark.covering(1)
@pytest.mark.parametrize("result", HALF)
@pytest.mark.parametrize(
    ("sizes", "columns"),
    [
        ((128, 64, 64), 64),
        ((129, 72, 64), 64),
        ((127, 104, 72), 96),
        ((9, 8, 8), 32),
        ((131, 264, 40), 256),
    ],
    ids=str,
)
def test_each_lane_writes_eight_elements(sizes, columns, result):
    made = gemm(sizes, result, columns)
    assert made.count("shfl.sync") == columns // 4
    assert made.count("st.global.v4") == columns // 16
    a, b, _ = matrices(sizes, "bf16")
    c = np.full(sizes[:2], np.nan, NUMPY[result])
    assert made.run(a, b, c) == []
    check(a, b, c.astype(np.float64), bound=HALF[result])
    again = np.full(sizes[:2], np.nan, NUMPY[result])
    made.kernel(a, b, again)
    check(a, b, again.astype(np.float64), bound=HALF[result])


@pytest.mark.parametrize(
    ("sizes", "result", "columns"),
    [
        ((128, 68, 64), "bf16", 64),
        ((128, 67, 64), "bf16", 64),
        ((128, 64, 64), "f32", 64),
        ((128, 24, 64), "bf16", 24),
    ],
    ids=["rows of 8 bytes", "odd rows", "whole sectors", "three pieces"],
)
def test_what_is_not_proved_or_no_use_stays(sizes, result, columns):
    made = gemm(sizes, result, columns)
    assert not made.count("shfl.sync")
    a, b, c = matrices(sizes, "bf16")
    c = c.astype(NUMPY[result])
    assert made.run(a, b, c) == []
    check(a, b, c.astype(np.float64), bound=HALF.get(result, 1e-6))


def test_another_partner_is_wrong():
    sizes = (128, 64, 64)
    made = gemm(sizes)
    a, b, _ = matrices(sizes, "bf16")
    c = np.zeros(sizes[:2], NUMPY["bf16"])
    words = next(line for line in made.ptx.splitlines() if "shfl.sync" in line)
    wrong = words.replace(", 1, 31, ", ", 4, 31, ")
    assert wrong != words
    made.run(a, b, c, text=made.ptx.replace(words, wrong))
    with pytest.raises(AssertionError):
        check(a, b, c.astype(np.float64), bound=HALF["bf16"])
