"""What is free goes in front of the last barrier, and nothing else does."""

from __future__ import annotations

import pytest
from test_ordering import AT, QUAD, loaded, say, stored

from wave_backend_asm.machine.ahead import ahead
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.machine.sinking import counted

VALUE, FREE, OTHER, MASK = Virtual(), Virtual(), Virtual(), Virtual(2, SCALARS)
WAVE = Virtual(1, SCALARS)

BEFORE, BARRIER = [loaded(VALUE), stored(VALUE)], say("s_barrier")
SUM = say("v_add_u32", FREE, of=(AT, AT))
END = [stored(FREE), say("s_endpgm")]


def moved(*behind, fixed=(BARRIER,)):
    """The operations whose places others have now."""
    given = [*BEFORE, *fixed, *behind, *END]
    found = ahead(given, counted(iter(given)))
    assert sorted(map(id, found)) == sorted(map(id, given))
    return found[len(BEFORE) : found.index(fixed[0])]


def test_what_registers_in_front_have_is_computed_there():
    shifted = say("v_lshlrev_b32", OTHER, of=(2, FREE))
    wave = say("s_add_i32", WAVE, of=(QUAD.parts()[0], 4))
    assert moved(SUM, shifted, wave) == [SUM, shifted, wave]


@pytest.mark.parametrize("behind", [
    [say("ds_read_b32", OTHER, of=(AT,)), say("v_add_u32", FREE, of=(OTHER, AT))],
    [say("v_mov_b32", FREE, of=(0,)), say("v_mov_b32", FREE, of=(1,))],
    [say("v_add_u32", FREE, of=(AT, AT), keeps=(FREE.all,))],
    [say("v_cndmask_b32_e32", FREE, of=(AT, AT, "vcc"))],
    [say("v_mov_b32", FREE, of=("m0",))],
    [say("s_cmp_eq_u32", of=(WAVE, 0)), say("s_cselect_b64", MASK, of=(-1, 0))],
    [say("v_mov_b32_dpp", FREE, of=(AT,), modifiers="quad_perm:[1,0,3,2]")],
    [say("v_div_fmas_f32", FREE, of=(AT, AT, AT))],
    [say("v_mfma_f32_4x4x4_16b_f16", Virtual(4), of=(Virtual(2), Virtual(2), 0))],
], ids=["loaded", "written twice", "a part", "vcc", "m0", "condition", "lanes",
        "division", "product"])  # fmt: skip
def test_what_is_not_free_stays(behind):
    assert moved(*behind) == []


def test_other_lanes_compute_other_values():
    switch = say("s_mov_b64", "exec", of=(MASK,))
    assert moved(SUM, fixed=(switch,)) == []


def test_points_before_the_last_one_keep_what_is_behind_them():
    between, late = say("v_mov_b32", OTHER, of=(1,)), say("v_mov_b32", VALUE, of=(2,))
    given = [SUM, BARRIER, between, stored(OTHER), say("s_barrier"), late, *END]
    found = ahead(given, counted(iter(given)))
    assert found == [*given[:4], late, given[4], *END]
