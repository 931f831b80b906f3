"""Shapes and cycles of matrix instructions, from their names."""

from __future__ import annotations

import pytest

from wave_isa_amdgcn.matrix import MATRIX_FLOPS, matrix_cycles, mfma_of


@pytest.mark.parametrize(
    ("name", "formats", "cycles"),
    [
        ("V_MFMA_F32_16X16X16_F16", (0, 0), {"gfx942": 16, "gfx950": 16}),
        ("V_MFMA_F32_32X32X8_F16", (0, 0), {"gfx90a": 64, "gfx942": 32}),
        ("V_MFMA_F32_32X32X16_F16", (0, 0), {"gfx950": 32}),
        ("V_MFMA_SCALE_F32_16X16X128_F8F6F4", (4, 4), {"gfx950": 16}),
        ("V_MFMA_SCALE_F32_16X16X128_F8F6F4", (0, 4), {"gfx950": 32}),
        ("V_MFMA_F32_4X4X4_16B_F16", (0, 0), {"gfx942": 8}),
    ],
)
def test_cycles(name, formats, cycles):
    found = {chip: matrix_cycles(name, MATRIX_FLOPS[chip], formats) for chip in cycles}
    assert found == cycles


def test_the_formats_decide_where_the_name_does_not():
    shape = mfma_of("V_MFMA_F32_16X16X128_F8F6F4", (1, 4))
    assert shape is not None
    assert (shape.a, shape.b) == ("BF8", "FP4")


def test_what_is_no_product_has_no_shape():
    assert mfma_of("V_ADD_F32") is None
