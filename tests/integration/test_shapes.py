"""Shapes that no tile divides, in every dimension; sizes 0.

The tests take every pair of sizes of any two dimensions; `nox -s fuzz` takes them all.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from programs import distance

import wave_core.lang as tkl
from wave_core.compile import Session, run_case, wave_compile
from wave_kernels.cases.attention import attention_case
from wave_kernels.cases.copy import copy_case
from wave_kernels.cases.gemm import gemm_case, staged_gemm_case
from wave_kernels.cases.norms import layer_norm_case, rms_norm_case
from wave_kernels.cases.softmax import softmax_case
from wave_kernels.definitions.attention import attention_kernel

SIZES = (1, 7, 63, 64, 65, 100, 129)
GEMM_TILES = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
SMALL = tkl.MMAType.F32_16x16x16_F16
LARGE = tkl.MMAType.F32_32x32x8_F16


def pairwise(dims: int) -> list[tuple[int, ...]]:
    """Rows of sizes such that two columns show all pairs (an orthogonal array).

    There are seven sizes, and seven is a prime: row (i, j) has i and the values of
    the lines with slope i through j, of which two meet in one place only.
    """
    count = len(SIZES)
    rows = product(range(count), range(count))
    return [
        tuple(SIZES[x] for x in (i, *((j + i * slope) % count for slope in range(6))))[
            :dims
        ]
        for i, j in rows
    ]


@pytest.fixture(scope="module")
def session():
    return Session(announce=lambda _: None)


def check(case, session, device="sim"):
    """Run on fresh inputs; the output is poisoned and nothing may be reported."""
    from dataclasses import replace

    options = replace(case.options, device=device, poison_outputs=True)
    report = run_case(case, options=options, session=session)
    assert report.passed, report.to_json()
    assert report.record.reports == ()


def each(case_of, names, rows, session, settings, device="sim"):
    for row in rows:
        sizes = dict(zip(names, row, strict=True))
        check(case_of(sizes, settings, "generic"), session, device)


def test_pairwise_shows_all_pairs():
    rows = pairwise(5)
    assert len(rows) == len(SIZES) ** 2
    for one, other in product(range(5), range(5)):
        pairs = {(row[one], row[other]) for row in rows}
        assert len(pairs) == (len(SIZES) ** 2 if one != other else len(SIZES))


@pytest.mark.parametrize("dynamic", [0, 1])
@pytest.mark.parametrize("device", ["sim", "sim-logical"])
def test_copy(session, device, dynamic):
    each(copy_case, "MN", pairwise(2), session, {"DYNAMIC": dynamic}, device)


@pytest.mark.covering(1)
@pytest.mark.parametrize("dynamic", [0, 1])
@pytest.mark.parametrize("case", [softmax_case, rms_norm_case, layer_norm_case])
def test_rows(session, case, dynamic):
    each(case, "MN", pairwise(2), session, {"DYNAMIC": dynamic})


@pytest.mark.parametrize("dynamic", [0, 1])
def test_gemm(session, dynamic):
    settings = GEMM_TILES | {"DYNAMIC": dynamic}
    each(gemm_case, "MNK", pairwise(3), session, settings)


def test_staged_gemm(session):
    each(staged_gemm_case, "MNK", pairwise(3)[::3], session, GEMM_TILES)


def attention(variant):
    """Attention with these two instructions."""

    def case_of(sizes, settings, target):
        from dataclasses import replace

        case = attention_case(sizes, settings, target)
        return replace(case, kernel=attention_kernel(variant))

    return case_of


TILES = {
    (SMALL, SMALL): {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K2": 32},
    (LARGE, LARGE): {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K2": 32},
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("variant", TILES, ids=["16x16", "32x32"])
@pytest.mark.parametrize("part", range(4))
def test_attention(session, variant, part):
    """Every size in every dimension; the batch is small where tests are quick."""
    rows = [(1 + row[4] % 3, *row[:4]) for row in pairwise(5)]
    names = ("B", "M", "N", "K1", "K2")
    each(attention(variant), names, rows[part::4], session, TILES[variant])


@pytest.mark.parametrize("size", SIZES)
def test_attention_batch(session, size):
    sizes = {"B": size, "M": 65, "N": 7, "K1": 7, "K2": 33}
    settings = {"BLOCK_N": 16, "BLOCK_K2": 16}
    check(attention_case(sizes, settings, "generic"), session)


@pytest.mark.fuzz
@pytest.mark.parametrize("dynamic", [0, 1])
@pytest.mark.parametrize("m", SIZES)
def test_gemm_all(session, m, dynamic):
    settings = GEMM_TILES | {"DYNAMIC": dynamic}
    rows = [(m, *rest) for rest in product(SIZES, SIZES)]
    each(gemm_case, "MNK", rows, session, settings)


@pytest.mark.fuzz
@pytest.mark.parametrize("variant", TILES, ids=["16x16", "32x32"])
@pytest.mark.parametrize("part", range(7))
def test_attention_all_dimensions(session, variant, part):
    rows = pairwise(5)[part::7]
    names = ("M", "N", "K1", "K2", "B")
    each(attention(variant), names, rows, session, TILES[variant])


@pytest.mark.parametrize("device", ["sim", "sim-logical"])
@pytest.mark.parametrize("settings", [{}, {"DYNAMIC": 1}], ids=["static", "dynamic"])
@pytest.mark.parametrize("case_of", [gemm_case, staged_gemm_case])
def test_without_terms_a_product_is_zero(case_of, settings, device):
    from dataclasses import replace

    case = case_of({"M": 65, "N": 33, "K": 0}, GEMM_TILES | settings, "generic")
    kernel = wave_compile(replace(case.options, device=device), case.kernel)
    a, b, c = case.make_arguments(np.random.default_rng())
    assert np.isnan(c).all()
    kernel(a, b, c)
    assert distance(c, np.zeros((65, 33))) == 0.0


@pytest.mark.parametrize("settings", [{}, {"DYNAMIC": 1}], ids=["static", "dynamic"])
@pytest.mark.parametrize("empty", ["M", "N"])
@pytest.mark.parametrize("case_of", [gemm_case, copy_case])
def test_an_empty_grid_launches_nothing(case_of, empty, settings):
    sizes = {"M": 65, "N": 33, empty: 0}
    case = case_of(sizes, settings, "generic")
    kernel = wave_compile(case.options, case.kernel)
    kernel(*case.make_arguments(np.random.default_rng()))
    assert 0 in kernel.last_run.grid
    assert kernel.last_run.counters == {}
