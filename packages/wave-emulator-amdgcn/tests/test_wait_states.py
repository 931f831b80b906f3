"""Each row of the tables of wait states: one too few is reported, enough is not."""

from __future__ import annotations

import pytest
from tinygrad.renderer.amd.dsl import (
    DPP,
    EXEC,
    EXECZ,
    NULL as M0,  # 124; the decoder has M0 of gfx11
    OFF,
    SDWA,
    VCCZ,
    s,
    v,
)
from tinygrad.runtime.autogen.amd.cdna import ins as cdna
from tinygrad.runtime.autogen.amd.cdna.enum import VOP1Op

from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.hazards.nops import missing_states
from wave_emulator_amdgcn.program import Program
from wave_isa_amdgcn.waitstates import ROWS

A, B, C = "gfx90a", "gfx942", "gfx950"
ALL = (A, B, C)

# Instructions by a short name; results in v[20:..], s[20:21].
MOVE = cdna.v_mov_b32_e32(v[20], v[1])
COMPARE = cdna.v_cmp_lt_f32_e64(s[20:21], v[1], v[2])
TO_VCC = cdna.v_cmp_lt_f32_e32(v[1], v[2])
TO_EXEC = cdna.v_cmpx_lt_f32_e64(EXEC, v[1], v[2])
LANE = cdna.v_readfirstlane_b32_e32(v[20], v[1])
READ20 = cdna.v_add_f32_e32(v[50], v[20], v[3])
STORE20 = cdna.global_store_dword(addr=v[4:5], data=v[20], saddr=OFF)
LDS20 = cdna.ds_write_b32(addr=v[4], data0=v[20])
F16 = cdna.v_mfma_f32_16x16x16_f16(v[20:23], v[4:5], v[6:7], v[20:23])
F16_LARGE = cdna.v_mfma_f32_32x32x8_f16(v[20:35], v[4:5], v[6:7], v[20:35])
F16_SMALL = cdna.v_mfma_f32_4x4x4_16b_f16(v[20:23], v[4:5], v[6:7], v[20:23])
F32 = cdna.v_mfma_f32_16x16x4_f32(v[20:23], v[4], v[6], v[20:23])
F64 = cdna.v_mfma_f64_16x16x4_f64(v[20:27], v[4:5], v[6:7], v[20:27])
F64_SMALL = cdna.v_mfma_f64_4x4x4_4b_f64(v[20:21], v[4:5], v[6:7], v[20:21])
FACTOR = cdna.v_mfma_f32_16x16x16_f16(v[60:63], v[20:21], v[6:7], v[60:63])
ADDEND = cdna.v_mfma_f32_16x16x16_f16(v[60:63], v[4:5], v[6:7], v[20:23])
SHIFTED = cdna.v_mfma_f32_16x16x16_f16(v[60:63], v[4:5], v[6:7], v[22:25])
SHIFTED32 = cdna.v_mfma_f32_16x16x4_f32(v[60:63], v[4], v[6], v[22:25])
ADDEND64 = cdna.v_mfma_f64_4x4x4_4b_f64(v[60:61], v[4:5], v[6:7], v[20:21])
SHIFTED64 = cdna.v_mfma_f64_4x4x4_4b_f64(v[60:61], v[4:5], v[6:7], v[22:23])
SET = cdna.s_setreg_b32(s[3], 1 | 31 << 11)

# A part of the row's name, first, second, states by architecture.
CASES = [
    ("SGPR, VMEM", COMPARE,
     cdna.buffer_load_dword(v[8], v[9], s[20:23], 0), dict.fromkeys(ALL, 5)),
    ("SGPR, VMEM", LANE, cdna.global_load_dword(v[8], v[9], saddr=s[20:21]),
     dict.fromkeys(ALL, 5)),
    ("selects a lane", COMPARE, cdna.v_readlane_b32(v[30], v[1], s[20]),
     dict.fromkeys(ALL, 4)),
    ("selects a lane", COMPARE, cdna.v_writelane_b32(v[30], s[3], s[20]),
     dict.fromkeys(ALL, 4)),
    ("DIV_FMAS", TO_VCC, cdna.v_div_fmas_f32_e64(v[8], v[1], v[2], v[3]),
     dict.fromkeys(ALL, 4)),
    ("VCCZ", TO_VCC, cdna.v_mov_b32_e32(v[8], VCCZ), dict.fromkeys(ALL, 5)),
    ("EXECZ", TO_EXEC, cdna.v_mov_b32_e32(v[8], EXECZ), dict.fromkeys(ALL, 5)),
    ("DPP reads", MOVE, cdna.VOP1_DPP16(VOP1Op.V_MOV_B32_E32, v[8], DPP,
     vsrc0=v[20], dpp=0xB1, bank_mask=15, row_mask=15), dict.fromkeys(ALL, 2)),
    ("EXEC, DPP", TO_EXEC, cdna.VOP1_DPP16(VOP1Op.V_MOV_B32_E32, v[8], DPP,
     vsrc0=v[1], dpp=0xB1, bank_mask=15, row_mask=15), dict.fromkeys(ALL, 5)),
    ("M0", cdna.s_mov_b32(M0, s[3]),
     cdna.buffer_load_dword(v[8], v[9], s[20:23], 0, lds=1, offen=1),
     dict.fromkeys(ALL, 1)),
    ("S_SETREG, S_GETREG", SET, cdna.s_getreg_b32(s[4], 1 | 31 << 11),
     dict.fromkeys(ALL, 2)),
    ("S_SETREG, S_SETREG", SET, SET, dict.fromkeys(ALL, 2)),
    ("a store", cdna.global_store_dwordx4(addr=v[4:5], data=v[20:23], saddr=OFF),
     MOVE, {A: 1, B: 2, C: 2}),
    ("a store", cdna.buffer_store_dwordx3(v[20:22], v[9], s[20:23], 0), MOVE,
     {A: 1, B: 2, C: 2}),
    ("a store", cdna.buffer_store_dwordx4(v[20:23], v[9], s[20:23], s[4]), MOVE,
     {A: 0, B: 1, C: 1}),
    ("transcendental", cdna.v_exp_f32_e32(v[20], v[1]), READ20, {A: 0, B: 1, C: 1}),
    ("part of a VGPR", cdna.v_add_f16_e64(v[20], v[1], v[2], opsel=8), READ20,
     {A: 0, B: 1, C: 1}),
    ("part of a VGPR", cdna.VOP1_SDWA(VOP1Op.V_MOV_B32_E32, v[20], SDWA,
     vsrc0=v[1], dst_sel=1, src0_sel=6), READ20, {A: 0, B: 1, C: 1}),
    ("SGPR, VALU", COMPARE,
     cdna.v_cndmask_b32_e64(v[8], v[1], v[2], s[20:21]), {A: 0, B: 2, C: 2}),
    ("SGPR, VALU", TO_VCC, cdna.v_cndmask_b32_e32(v[8], v[1], v[2]),
     {A: 0, B: 2, C: 2}),
    ("V_READLANE", MOVE, cdna.v_readfirstlane_b32_e32(v[30], v[20]),
     {A: 0, B: 1, C: 1}),
    ("lane access", TO_EXEC, cdna.v_readfirstlane_b32_e32(v[30], v[1]),
     {A: 0, B: 4, C: 4}),
    ("PERMLANE_SWAP uses", MOVE, cdna.v_permlane32_swap_b32_e32(v[20], v[21]),
     {C: 2}),
    ("V_CMPX", TO_EXEC, cdna.v_permlane32_swap_b32_e32(v[4], v[5]), {C: 4}),
    ("EXEC, MFMA", TO_EXEC, F16, dict.fromkeys(ALL, 4)),
    ("VGPR, MFMA reads", MOVE, FACTOR, dict.fromkeys(ALL, 2)),
    ("VGPR, MFMA reads", MOVE, ADDEND, dict.fromkeys(ALL, 2)),
    ("DOT, another", cdna.v_dot2_f32_f16(v[20], v[1], v[2], v[3]), READ20,
     dict.fromkeys(ALL, 3)),
    ("overwrites the result", cdna.v_dot2_f32_f16(v[20], v[1], v[2], v[3]), MOVE,
     dict.fromkeys(ALL, 3)),
    ("FMA of f64", F64_SMALL, cdna.v_fma_f64_e64(v[40:41], v[4:5], v[6:7], v[8:9]),
     dict.fromkeys(ALL, 2)),
    ("reads its result", F16, READ20, {A: 11, B: 7, C: 8}),
    ("reads its result", F16, STORE20, {A: 11, B: 7, C: 8}),
    ("reads its result", F16, LDS20, {A: 11, B: 7, C: 8}),
    ("reads its result", F16_LARGE, READ20, {A: 19, B: 11, C: 12}),
    ("reads its result", F16_SMALL, READ20, {A: 5, B: 5, C: 5}),
    ("reads its result", F32, READ20, {A: 11, B: 10, C: 10}),
    ("reads its result", F64, READ20, {A: 11, B: 11, C: 19}),
    ("reads its result", F64, STORE20, {A: 18, B: 18, C: 18}),
    ("reads its result", F64_SMALL, READ20, {A: 6, B: 6, C: 6}),
    ("reads its result", F64_SMALL, STORE20, {A: 9, B: 9, C: 9}),
    ("overwrites its result", F16, MOVE, {A: 11, B: 7, C: 7}),
    ("overwrites its result", F32, MOVE, {A: 11, B: 10, C: 10}),
    ("overwrites its result", F64, MOVE, {A: 11, B: 11, C: 11}),
    ("third operand", ADDEND, MOVE, {A: 7, B: 3, C: 3}),
    ("third operand", cdna.v_mfma_f32_16x16x4_f32(v[60:63], v[4], v[6], v[20:23]),
     MOVE, {A: 7, B: 0, C: 0}),
    ("third operand", cdna.v_mfma_f32_4x4x4_16b_f16(v[60:63], v[4:5], v[6:7],
     v[20:23]), MOVE, dict.fromkeys(ALL, 1)),
    ("as A or B", F16, FACTOR, {A: 11, B: 7, C: 8}),
    ("as A or B", F32, FACTOR, {A: 11, B: 10, C: 10}),
    ("as A or B", F64, FACTOR, {A: 11, B: 11, C: 19}),
    ("as A or B", F64_SMALL, FACTOR, {A: 6, B: 6, C: 6}),
    ("as its third", F16, ADDEND, dict.fromkeys(ALL, 0)),
    ("as its third", F16_SMALL, ADDEND, {A: 0, B: 2, C: 2}),
    ("as its third", F16, SHIFTED, {A: 8, B: 5, C: 6}),
    ("as its third", F16_LARGE, SHIFTED, {A: 16, B: 9, C: 10}),
    ("as its third", F16, SHIFTED32, {A: 8, B: 5, C: 6}),
    ("as its third", F32, SHIFTED32, {A: 8, B: 8, C: 8}),
    ("as its third", F32, SHIFTED, {A: 8, B: 0, C: 0}),
    ("as its third", F16, SHIFTED64, {A: 9, B: 5, C: 6}),
    ("as its third", F64, SHIFTED64, {A: 9, B: 9, C: 17}),
    ("as its third", F64_SMALL, ADDEND64, {A: 4, B: 4, C: 4}),
]  # fmt: skip
PAIRS = [
    (name, first, second, arch, states)
    for name, first, second, by_architecture in CASES
    for arch, states in by_architecture.items()
]


def found(arch, *instructions):
    """The messages for a straight piece of code."""
    data = b"".join(i.to_bytes() for i in (*instructions, cdna.s_endpgm()))
    program = Program(data, 0, ARCHITECTURES[arch])
    at = 0
    while at < len(data):
        at = program.at(at).following
    return [report.message for report in missing_states(program)]


def idle(states):
    """Instructions that take so many states."""
    nops = [cdna.s_nop(15)] * (states // 16)
    return nops + ([cdna.s_nop(states % 16 - 1)] if states % 16 else [])


@pytest.mark.parametrize(("name", "first", "second", "arch", "states"), PAIRS)
def test_one_state_too_few_is_reported_and_enough_is_not(
    name, first, second, arch, states
):
    assert not found(arch, first, *idle(states), second)
    if states:
        few = found(arch, first, *idle(states - 1), second)
        assert any(
            name in message and f"{states - 1} of {states}" in message
            for message in few
        ), few


def test_every_row_has_a_case():
    names = {name for name, *_ in CASES}
    uncovered = [row.name for row in ROWS if not any(n in row.name for n in names)]
    assert uncovered == []


def test_f64_matrix_instruction_between_register_and_memory():
    other = cdna.v_mfma_f64_4x4x4_4b_f64(v[60:61], v[4:5], v[6:7], v[60:61])
    assert found("gfx90a", MOVE, other, STORE20)
    assert not found("gfx90a", MOVE, other, cdna.s_nop(0), STORE20)
    assert not found("gfx90a", MOVE, READ20, STORE20)
    assert not found("gfx942", MOVE, other, STORE20)


def test_a_hazard_across_a_branch_back_is_seen():
    loop = [READ20, cdna.s_nop(0), cdna.v_exp_f32_e32(v[20], v[1])]
    size = sum(len(i.to_bytes()) for i in loop)
    back = cdna.s_cbranch_scc1(0x10000 - (size // 4 + 1))
    assert not found("gfx942", *loop, back)
    sgpr = [cdna.v_readlane_b32(v[30], v[1], s[20]), COMPARE]
    size = sum(len(i.to_bytes()) for i in sgpr)
    back = cdna.s_cbranch_scc1(0x10000 - (size // 4 + 1))
    assert "1 of 4" in found("gfx942", *sgpr, back)[0]
