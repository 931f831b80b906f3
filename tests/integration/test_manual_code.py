"""Machine code of kernels with manual schedules, executed by the emulator.

It looks for hazards; none may be reported. The results are those of f64.
"""

from __future__ import annotations

import pytest
from tagged_kernels import (
    ATTENTION_SCHEDULES,
    GEMM_SCHEDULES,
    K1,
    B,
    K,
    M,
    N,
    attention_error,
    compiled,
    gemm_error,
    tagged_attention,
    tagged_gemm,
)

TRIPS = (0, 1, 2, 3, 4, 5, 9)
GEMM = {M: 40, N: 33, K: 160}
ATTENTION = {B: 2, M: 40, N: 17, K1: 20, K: 61}


def product_of(name, sizes, *, dynamic):
    """A product with a schedule; the depth of its tiles."""
    depth = 64 if name == "clustered" else 32
    schedule = GEMM_SCHEDULES[name]
    kernel = tagged_gemm((64, 64, depth))
    return compiled(kernel, schedule, sizes, dynamic=dynamic, device="emulator")


@pytest.mark.parametrize("name", GEMM_SCHEDULES)
def test_products_of_any_size(name):
    kernel = product_of(name, GEMM, dynamic=True)
    for trips in TRIPS:
        assert gemm_error(kernel, GEMM | {K: 32 * trips}) < 1e-4, trips
        assert kernel.last_run.reports == ()


@pytest.mark.fuzz
@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("name", GEMM_SCHEDULES)
def test_products_of_known_size(name, trips):
    sizes = GEMM | {K: 32 * trips}
    kernel = product_of(name, sizes, dynamic=False)
    assert gemm_error(kernel, sizes) < 1e-4
    assert kernel.last_run.reports == ()


@pytest.mark.parametrize("name", ATTENTION_SCHEDULES)
def test_attention_of_any_size(name):
    kernel = compiled(
        tagged_attention(),
        ATTENTION_SCHEDULES[name],
        ATTENTION,
        dynamic=True,
        device="emulator",
    )
    for trips in TRIPS[1:]:
        sizes = ATTENTION | {K: 16 * trips - 3}
        assert attention_error(kernel, sizes) < 2e-3, trips
        assert kernel.last_run.reports == ()


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ATTENTION_SCHEDULES)
@pytest.mark.parametrize("trips", [1, 9])
def test_attention_of_known_size(name, trips):
    sizes = ATTENTION | {K: 16 * trips - 3}
    schedule = ATTENTION_SCHEDULES[name]
    kernel = compiled(tagged_attention(), schedule, sizes, device="emulator")
    assert attention_error(kernel, sizes) < 2e-3
    assert kernel.last_run.reports == ()
