"""Targets: every layout covers its tile and is that of the instruction."""

from __future__ import annotations

import numpy as np
import pytest

from wave_backend_nvgpu.targets import chips, memory
from wave_core.types import DTYPES

CHIPS = {
    chip.name: chip
    for chip in (
        chips.sm_80(),
        chips.sm_86(),
        chips.sm_89(),
        chips.sm_90(),
        chips.sm_90a(),
    )
}
ROWS = {row.name: row for row in CHIPS["sm_90"].matrix_instructions}


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
        assert layout.lanes == 32


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_operands_agree_on_k(row):
    """In each lane, issue by issue, the same elements of K."""
    tall = row.shape[0] // 8
    share = row.lhs.registers // row.issues
    for lane in range(32):
        for issue in range(row.issues):
            registers = range(issue * share, (issue + 1) * share)
            left = {row.lhs.offset("K", lane, r) for r in registers}
            few = range(issue * share // tall, (issue + 1) * share // tall)
            assert left == {row.rhs.offset("K", lane, r) for r in few}


FRAGMENTS = [row for row in ROWS.values() if row.operand_dtypes[0].bits <= 32]


@pytest.mark.parametrize("row", FRAGMENTS, ids=lambda row: row.name)
def test_fragments_are_those_of_the_isa(row):
    """PTX ISA, "Matrix Fragments for mma": groupID is lane / 4."""
    k = row.shape[2] // row.issues
    run = 32 // row.operand_dtypes[0].bits
    share = row.lhs.registers // row.issues
    for lane, reg in np.ndindex(32, row.lhs.registers):
        issue, own = divmod(reg, share)
        group, turn = lane // 4, lane % 4
        assert row.lhs.offset("M", lane, reg) == group + 8 * (own // run % 2)
        along = run * turn + own % run + 4 * run * (own // (2 * run))
        assert row.lhs.offset("K", lane, reg) == k * issue + along
    for lane, reg in np.ndindex(32, row.rhs.registers):
        assert row.rhs.offset("N", lane, reg) == lane // 4
        along = run * (lane % 4) + reg % run + 4 * run * (reg // run)
        assert row.rhs.offset("K", lane, reg) == along


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_accumulators_are_those_of_the_isa(row):
    for lane, reg in np.ndindex(32, row.acc.registers):
        assert row.acc.offset("M", lane, reg) == lane // 4 + 8 * (reg // 2)
        assert row.acc.offset("N", lane, reg) == 2 * (lane % 4) + reg % 2


def test_elements_of_64_bits_lie_side_by_side():
    row = ROWS["F64_8x8x8_F64"]
    for lane, reg in np.ndindex(32, 2):
        assert row.lhs.offset("K", lane, reg) == 2 * (lane % 4) + reg


@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)
def test_bank_phases_name_each_lane_once(chip):
    for width, row in chip.memory.read_phases:
        lanes = sorted(lane for phase in row.phases for lane in phase)
        assert lanes == list(range(32))
        assert len(row.phases) == max(1, width // 4)


@pytest.mark.parametrize(
    ("name", "shared"),
    [("sm_80", 163), ("sm_86", 99), ("sm_89", 99), ("sm_90", 227), ("sm_90a", 227)],
)
def test_sizes(name, shared):
    chip = CHIPS[name]
    assert (chip.wave_size, chip.memory.lds_bytes) == (32, shared * 1024)
    assert chip.registers.total * 32 * chip.registers.simds == 65536


@pytest.mark.parametrize(
    ("tile", "name"),
    [
        ((64, 32, 32), "F32_16x8x32_F16"),
        ((64, 32, 16), "F32_16x8x16_F16"),
        ((16, 8, 48), "F32_16x8x16_F16"),
        ((16, 8, 64), "F32_16x8x32_F16"),
        ((8, 8, 64), "F32_16x8x16_F16"),
    ],
)
def test_the_instruction_of_a_tile(tile, name):
    assert CHIPS["sm_80"].default_mma(DTYPES["f16"], tile=tile).name == name


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("bf16", "F32_16x8x32_F16"),
        ("i8", "I32_16x8x64_I8"),
        ("f8e4m3fn", "F32_16x8x64_F8"),
        ("f32", "F32_16x8x16_F32"),
        ("f64", "F64_8x8x8_F64"),
    ],
)
def test_default_instructions(dtype, name):
    found = CHIPS["sm_90"].default_mma(DTYPES[dtype])
    assert found.name == name
    assert DTYPES[dtype] in found.operand_dtypes


def test_8_bit_floats_come_with_ada():
    names = {name: {r.name for r in c.matrix_instructions} for name, c in CHIPS.items()}
    assert {n for n, rows in names.items() if "F32_16x8x32_F8" in rows} == {
        "sm_89",
        "sm_90",
        "sm_90a",
    }


@pytest.mark.parametrize(("bits", "exchange"), memory.ROWS)
def test_rows_of_matrices_are_exchanged_as_the_isa_says(bits, exchange):
    """PTX ISA, ldmatrix: of row r of matrix j lane 4r + i has piece i."""
    run = 32 // bits
    places = exchange.places(4 * run)
    for tile, row, column in np.ndindex(4, 8, 4 * run):
        fetched = (8 * tile + row) * 4 * run + column
        lane, register = 4 * row + column // run, run * tile + column % run
        assert places[fetched] == lane * 4 * run + register


def test_matrices_are_exchanged_as_the_isa_says():
    """PTX ISA, ldmatrix: rows come from lanes 8j to 8j + 7; registers hold columns."""
    places = memory.MATRICES.places(8)
    for tile, row, column in np.ndindex(4, 8, 8):
        fetched = (8 * tile + row) * 8 + column
        lane, half = 4 * column + row // 2, row % 2
        assert places[fetched] == 8 * lane + 2 * tile + half
