"""What only the code behind a branch reads is computed there, and nothing else is."""

from __future__ import annotations

import pytest
from test_ordering import AT, QUAD, loaded, say, stored

from wave_backend_asm.machine.branches import behind_branches
from wave_backend_asm.machine.instruction import Label
from wave_backend_asm.machine.operands import SCALARS, Virtual

VALUE, FREE, OTHER, MASK = Virtual(), Virtual(), Virtual(), Virtual(2, SCALARS)
WAVE, SAVED, TEST = (Virtual(width, SCALARS) for width in (1, 2, 2))
AGAIN = Virtual()

SUM = say("v_add_u32", FREE, of=(AT, AT))
SWITCH = say("s_and_saveexec_b64", SAVED, of=(MASK,))
JUMP = say("s_cbranch_execz", target="after")
AFTER = [Label("after"), say("s_mov_b64", "exec", of=(SAVED,)), say("s_endpgm")]


def moved(front, behind, after=()):
    """The operations in front that are behind the branch now."""
    given = [*front, SWITCH, JUMP, *behind, *AFTER[:2], *after, AFTER[2]]
    found = behind_branches(given)
    assert sorted(map(id, found)) == sorted(map(id, given))
    at = found.index(JUMP)
    assert found[at - 1] is SWITCH
    end = len(found) - len(behind) - len(after) - len(AFTER)
    assert found[end:] == given[end:]
    return found[at + 1 : end]


def test_what_is_read_there_alone_is_computed_there():
    shifted = say("v_lshlrev_b32", OTHER, of=(2, FREE))
    wave = say("s_add_i32", WAVE, of=(QUAD.parts()[0], 4))
    tested = [
        say("s_cmp_eq_u32", of=(WAVE, 0)), say("s_cselect_b64", TEST, of=(-1, 0))
    ]  # fmt: skip
    chosen = say("v_cndmask_b32_e64", VALUE, of=(OTHER, FREE, TEST))
    needed = [SUM, shifted, wave, *tested, chosen]
    elsewhere = say("v_mov_b32", AGAIN, of=(AT,))
    front = [*needed[:3], elsewhere, *needed[3:]]
    assert moved(front, [stored(VALUE)], [stored(AGAIN)]) == needed


@pytest.mark.parametrize(("front", "behind", "after"), [
    ([SUM], [stored(FREE)], [stored(FREE)]),
    ([SUM], [stored(OTHER)], [stored(FREE)]),
    ([SUM, stored(FREE)], [stored(FREE)], []),
    ([loaded(FREE)], [stored(FREE)], []),
    ([SUM, say("v_mov_b32", AT, of=(0,))], [stored(FREE)], []),
    ([SUM], [say("v_mov_b32", FREE, of=(0,)), stored(FREE)], []),
    ([SUM], [say("v_mov_b32_dpp", OTHER, of=(FREE,)), stored(OTHER)], []),
    ([SUM], [say("v_mfma_f32_4x4x4_16b_f16", Virtual(4), of=(FREE, FREE, 0))], []),
    ([SUM], [say("ds_bpermute_b32", OTHER, of=(AT, FREE)), stored(OTHER)], []),
    ([say("v_mov_b32", FREE, of=("m0",))], [stored(FREE)], []),
    ([SUM], [say("s_cselect_b32", WAVE, of=(1, 0)), stored(FREE)], []),
    ([SUM, Label("there")], [stored(FREE)], []),
    ([SUM], [Label("there"), stored(FREE)], [say("s_branch", target="there")]),
], ids=["after", "after alone", "in front", "loaded", "operand", "written twice",
        "lanes", "product", "permuted", "m0", "condition", "label", "another way in"],
)  # fmt: skip
def test_what_others_need_stays(front, behind, after):
    assert moved(front, behind, after) == []
