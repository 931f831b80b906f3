"""Products of four warps: the layouts of their operands are those of the ISA."""

from __future__ import annotations

import numpy as np
import pytest

from wave_backend_nvgpu.targets import chips
from wave_core.types import DTYPES

CHIP = chips.sm_90a()
ROWS = {row.name: row for row in CHIP.matrix_instructions if row.lanes == 128}
NARROW = {name: row for name, row in ROWS.items() if row.shape[1] in (8, 24, 256)}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_layouts_cover_their_tiles_once(row):
    m, n, k = row.shape
    for layout, tile in (
        (row.lhs, {"M": m, "K": k}),
        (row.rhs, {"N": n, "K": k}),
        (row.acc, {"M": m, "N": n}),
    ):
        found = layout.coverage(tile)
        assert (found.missing, found.outside) == (0, 0)
        assert found.min_multiplicity == found.max_multiplicity == 1
        assert layout.lanes == 128


@pytest.mark.parametrize("row", NARROW.values(), ids=NARROW)
def test_fragments_are_those_of_the_isa(row):
    """PTX ISA, "Register Fragments for wgmma": the figures, run on an H100."""
    run = 32 // row.operand_dtypes[0].bits
    for lane, reg in np.ndindex(128, row.acc.registers):
        down = 16 * (lane // 32 % 4) + lane // 4 % 8
        assert row.acc.offset("M", lane, reg) == down + 8 * (reg // 2 % 2)
        along = 2 * (lane % 4) + reg % 2 + 8 * (reg // 4)
        assert row.acc.offset("N", lane, reg) == along
    for lane, reg in np.ndindex(128, row.lhs.registers):
        down = 16 * (lane // 32 % 4) + lane // 4 % 8
        assert row.lhs.offset("M", lane, reg) == down + 8 * (reg // run % 2)
        along = run * (lane % 4) + reg % run + 4 * run * (reg // (2 * run))
        assert row.lhs.offset("K", lane, reg) == along


def test_rounded_scores_are_the_left_operand_of_the_next_product():
    """Of 16 bits: register for register, with no exchange among lanes."""
    scores = ROWS["F32_64x16x16_F16"].acc.rename({"N": "K"})
    assert scores == ROWS["F32_64x16x16_F16"].lhs


def test_widths_are_those_of_the_isa():
    widths = {
        kind: [row.shape[1] for name, row in ROWS.items() if name.endswith(kind)]
        for kind in ("F16", "I8", "F8")
    }
    every = list(range(256, 0, -8))
    assert widths["F16"] == widths["F8"] == every
    assert widths["I8"] == [n for n in every if n % 16 == 0 or n <= 24]


@pytest.mark.parametrize(
    ("dtype", "tile", "name"),
    [
        ("bf16", (64, 256, 64), "F32_64x256x16_F16"),
        ("f16", (128, 96, 64), "F32_64x96x16_F16"),
        ("f8e4m3fn", (64, 128, 128), "F32_64x128x32_F8"),
        ("i8", (64, 40, 64), "I32_64x8x32_I8"),
    ],
)
def test_the_widest_that_divides_the_tile_is_taken(dtype, tile, name):
    assert CHIP.default_mma(DTYPES[dtype], tile=tile, lanes=128).name == name


@pytest.mark.parametrize(
    ("dtype", "tile", "name"),
    [
        ("f16", (16, 16, 16), "F32_64x16x16_F16"),
        ("bf16", (64, 7, 64), "F32_64x8x16_F16"),
        ("f16", (6, 48, 8), "F32_64x48x16_F16"),
        ("bf16", (32, 260, 16), "F32_64x88x16_F16"),
        ("i8", (32, 40, 32), "I32_64x8x32_I8"),
        ("f8e5m2", (1, 1, 1), "F32_64x8x32_F8"),
    ],
)
def test_of_a_tile_that_none_divides_the_least_is_left_over(dtype, tile, name):
    assert CHIP.default_mma(DTYPES[dtype], tile=tile, lanes=128).name == name


def test_waves_of_32_lanes_are_what_they_were():
    found = CHIP.default_mma(DTYPES["bf16"], tile=(64, 256, 64), lanes=32)
    assert found == chips.sm_90().default_mma(DTYPES["bf16"], tile=(64, 256, 64))
