"""What is free goes in front of the last barrier, who waits for memory behind one."""

from __future__ import annotations

import pytest
from test_ordering import AT, QUAD, loaded, say, stored

from wave_backend_asm.machine.ahead import ahead
from wave_backend_asm.machine.later import later
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.machine.sinking import counted

VALUE, FREE, OTHER, MASK = Virtual(), Virtual(), Virtual(), Virtual(2, SCALARS)
WAVE, WAITED = Virtual(1, SCALARS), Virtual()

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


def test_who_reads_what_is_on_its_way_waits_behind_the_barrier():
    wanted = say("v_add_u32", FREE, of=(OTHER, AT))
    given = [loaded(OTHER), *BEFORE, BARRIER, wanted, *END]
    assert ahead(given, counted(iter(given))) == given
    given[1:1] = [say("v_add_u32", WAITED, of=(OTHER, AT))]
    found = ahead(given, counted(iter(given)))
    assert found.index(wanted) < found.index(BARRIER)


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


def delayed(*front, point=BARRIER):
    """What is behind a point now, of the operations in front of it."""
    given = [*front, point, stored(OTHER), say("s_endpgm")]
    found = later(given, counted(iter(given)))
    assert sorted(map(id, found)) == sorted(map(id, given))
    at = found.index(point)
    return [each for each in found[at:] if each in front]


HALVES = say("v_lshlrev_b32", OTHER, of=(16, VALUE))


def test_who_waits_for_memory_waits_behind_the_barrier():
    more = say("v_add_u32", FREE, of=(OTHER, AT))
    assert delayed(loaded(VALUE), HALVES, more) == [HALVES, more]
    assert delayed(loaded(VALUE), SUM, HALVES) == [HALVES]


def test_a_barrier_is_passed_once():
    """What is loaded in front of one is there in front of the next."""
    second = say("s_barrier")
    given = [loaded(VALUE), HALVES, BARRIER, SUM, second, stored(OTHER)]
    assert later(given, counted(iter(given))) == [
        given[0], BARRIER, HALVES, SUM, second, given[-1]
    ]  # fmt: skip


@pytest.mark.parametrize(("front", "point"), [
    ([loaded(VALUE), HALVES, stored(OTHER)], BARRIER),
    ([say("v_mov_b32", VALUE, of=(0,)), HALVES], BARRIER),
    ([loaded(VALUE), HALVES, say("v_mov_b32", VALUE, of=(0,))], BARRIER),
    ([loaded(VALUE), HALVES], say("s_mov_b64", "exec", of=(MASK,))),
    ([loaded(VALUE), say("ds_write_b32", of=(AT, VALUE))], BARRIER),
], ids=["wanted", "there", "overwritten", "lanes", "written"])  # fmt: skip
def test_others_are_computed_where_they_were(front, point):
    assert delayed(*front, point=point) == []
