"""Targets: every layout covers its tile, every row is complete."""

from __future__ import annotations

import pytest

from wave_backend_amdgpu.plugin import chips
from wave_backend_amdgpu.targets import chips as targets
from wave_core.diagnostics import UserError
from wave_core.targets import MMAType
from wave_core.types import DTYPES

CHIPS = {name: getattr(targets, name)() for name in chips()}
ROWS = [
    pytest.param(chip, row, id=f"{chip.name}-{row.name}")
    for chip in CHIPS.values()
    for row in chip.matrix_instructions
]
REPLICATED = {"RDNA3_WAVE32_F32_16x16x16_F16", "RDNA3_WAVE32_I32_16x16x16_I8"}


@pytest.mark.parametrize(("chip", "row"), ROWS)
def test_layouts_cover_their_tiles(chip, row):
    m, n, k = row.shape
    twice = 2 if row.name in REPLICATED else 1
    for layout, tile, times in (
        (row.lhs, {"M": m, "K": k}, twice),
        (row.rhs, {"N": n, "K": k}, twice),
        (row.acc, {"M": m, "N": n}, 1),
    ):
        found = layout.coverage(tile)
        assert (found.missing, found.outside) == (0, 0)
        assert found.min_multiplicity == found.max_multiplicity == times
        assert layout.lanes == chip.wave_size


@pytest.mark.parametrize(("chip", "row"), ROWS)
def test_operands_agree_on_k_and_split_evenly(chip, row):
    for lane in range(chip.wave_size):
        for reg in range(row.lhs.registers):
            assert row.lhs.offset("K", lane, reg) == row.rhs.offset("K", lane, reg)
    assert row.lhs.registers % row.issues == 0
    assert row.shape[2] % row.issues == 0
    assert row.source


@pytest.mark.parametrize(("chip", "row"), [r for r in ROWS if r.values[1].scale_block])
def test_every_block_has_a_scale(chip, row):
    tile = {"M": row.shape[0], "K": row.shape[2] // row.scale_block}
    assert row.scales.coverage(tile).missing == 0


def test_the_32_row_accumulator():
    row = CHIPS["gfx942"].matrix_instruction("F32_32x32x8_F16")
    for lane in range(64):
        for reg in range(16):
            wanted = 8 * (reg // 4) + 4 * (lane // 32) + reg % 4
            assert row.acc.offset("M", lane, reg) == wanted
            assert row.acc.offset("N", lane, reg) == lane % 32


def test_names_of_the_language_are_somewhere():
    known = {row.name for chip in CHIPS.values() for row in chip.matrix_instructions}
    assert {name.value for name in MMAType} == known


@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)
def test_bank_phases_name_each_lane_once(chip):
    memory = chip.memory
    for _, row in (*memory.read_phases, *memory.write_phases):
        lanes = sorted(lane for phase in row.phases for lane in phase)
        assert lanes == list(range(chip.wave_size))


@pytest.mark.parametrize(
    ("name", "wave", "lds"),
    [
        ("gfx90a", 64, 64),
        ("gfx942", 64, 64),
        ("gfx950", 64, 160),
        ("gfx1100", 32, 64),
        ("gfx1201", 32, 64),
        ("gfx1250", 32, 320),
    ],
)
def test_sizes(name, wave, lds):
    chip = CHIPS[name]
    assert (chip.wave_size, chip.memory.lds_bytes) == (wave, lds * 1024)


@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)
def test_default_instruction_takes_f16(chip):
    assert DTYPES["f16"] in chip.default_mma(DTYPES["f16"]).operand_dtypes


def test_missing_instruction_lists_what_there_is():
    with pytest.raises(UserError) as caught:
        CHIPS["gfx90a"].matrix_instruction("F32_16x16x32_F8")
    assert caught.value.code == "WV0702"
    assert "F32_16x16x16_F16" in str(caught.value)
