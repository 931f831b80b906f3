"""What a condition gives is computed where it is kept, if nobody else reads there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from test_ordering import say
from test_program import ARGUMENTS, FIXED, ITEM, code_of

from wave_backend_asm.code import Part
from wave_backend_asm.machine.in_place import in_place
from wave_backend_asm.machine.instruction import Copy, Label
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_emulator_amdgcn import emulate, load

WIDTH, LANES, BELOW = 4, 64, 32
OPERATIONS = {
    "v_add_u32": np.add,
    "v_xor_b32": np.bitwise_xor,
    "v_sub_u32": np.subtract,
}
FIRST, KEPT, MADE = (Virtual(WIDTH) for _ in range(3))
ALONE = Virtual()
MASK, SAVED = Virtual(2, SCALARS), Virtual(2, SCALARS)
WORDS = (*FIRST.parts(), *KEPT.parts())
NEW = (*MADE.parts(), ALONE.all)


def move(to, of):
    return say("v_mov_b32", to, of=(of,), keeps=(to,))


def conditional(body):
    """Registers hold what others do, and for some lanes what a body gives them."""
    return [
        Copy(KEPT.all, FIRST.all),
        say("s_and_saveexec_b64", SAVED, of=(MASK,)),
        say("s_cbranch_execz", target="after"),
        *body,
        Label("after"),
        say("s_mov_b64", "exec", of=(SAVED,)),
    ]


def program(body):
    """It stores both; a lane is on where its first word is small."""
    pointers, place = Virtual(4, SCALARS), Virtual()
    one, two = (Part(pointers, at, 2) for at in (0, 2))
    return [
        say("s_load_dwordx4", pointers, of=(ARGUMENTS, 0)),
        say("v_lshlrev_b32_e32", place, of=(5, ITEM)),
        say("global_load_dwordx4", FIRST, of=(place, one)),
        say("v_cmp_gt_u32_e64", MASK, of=(BELOW, FIRST.parts()[0])),
        *conditional(body),
        say("global_store_dwordx4", of=(place, KEPT, two)),
        say("global_store_dwordx4", of=(place, FIRST, two), modifiers="offset:16"),
        say("s_endpgm"),
    ]


def computed(body, first):
    """What stands in the registers of both behind it."""
    held = {word: first[:, word.first].copy() for word in WORDS}
    on = first[:, 0] < BELOW
    for line in body:
        values = [held[each] for each in line.operands]
        found = OPERATIONS[line.name](*values) if line.name in OPERATIONS else values[0]
        (result,) = line.results
        held[result] = np.where(on, found, held.get(result, 0)).astype(np.uint32)
    rows = [held[word] for word in (*KEPT.parts(), *FIRST.parts())]
    return np.stack(rows, axis=1)


@st.composite
def bodies(draw):
    """Sums into registers of the body, then moves of some of them."""
    made, lines = [], []
    for _ in range(draw(st.integers(1, 9))):
        name = draw(st.sampled_from([*OPERATIONS]))
        sides = [draw(st.sampled_from([*WORDS, *made])) for _ in range(2)]
        result = draw(st.sampled_from([*NEW, *NEW, *KEPT.parts()]))
        lines.append(say(name, result, of=sides))
        made += [result] if result in NEW and result not in made else []
    homes = draw(st.permutations(KEPT.parts())) if draw(st.booleans()) else KEPT.parts()
    moved = [word for word in made if draw(st.integers(0, 4))]
    moved.sort(key=NEW.index)
    return [*lines, *(move(to, of) for to, of in zip(homes, moved, strict=False))]


@settings(max_examples=40)
@given(bodies(), st.integers(0, 2**32 - 1))
def test_lanes_have_what_they_would_have(body, seed):
    given_words = np.random.default_rng(seed).integers(
        0, 2 * BELOW, (LANES, 2 * WIDTH), np.uint32
    )
    found = np.full_like(given_words, 7)
    _, data = code_of(program(body), "gfx942")
    result = emulate(load(data), (given_words, found), grid=(1, 1, 1))
    assert result.reports == ()
    assert np.array_equal(found, computed(body, given_words))


def left(body):
    """The moves that stay."""
    found = in_place(conditional(body), FIXED)
    return [line for line in found if getattr(line, "name", "") == "v_mov_b32"]


def add(result, *of):
    return say("v_add_u32", result, of=of)


SUMS = [add(to, of, of) for to, of in zip(NEW, FIRST.parts(), strict=False)]
MOVES = [move(to, of) for to, of in zip(KEPT.parts(), NEW, strict=False)]


def test_what_was_kept_is_overwritten_where_it_is_read():
    found = in_place(conditional([*SUMS, *MOVES]), FIXED)
    lines = [line for line in found if getattr(line, "name", "") == "v_add_u32"]
    own = KEPT.parts()
    assert [line.results[0] for line in lines] == [*own]
    assert [line.operands for line in lines] == [(each, each) for each in own]
    assert [line.keeps for line in lines] == [(each,) for each in own]
    assert left([*SUMS, *MOVES]) == []
    made, _ = code_of(program([*SUMS, *MOVES]), "gfx942")
    assert " ".join(made.lines).count("v_mov") == WIDTH // 2  # the copy for all lanes


HOME, *_ = KEPT.parts()
PAIR = Virtual(2)


@pytest.mark.parametrize("body", [
    [add(ALONE, FIRST.parts()[0], 1), add(MADE.parts()[0], HOME, 1), move(HOME, ALONE)],
    [add(ALONE, FIRST.parts()[0], 1), add(ALONE, ALONE, 1), move(HOME, ALONE)],
    [add(ALONE, 1, 1), move(HOME, ALONE), move(KEPT.parts()[1], ALONE)],
    [add(ALONE, 1, 1), add(HOME, 1, 2), move(HOME, ALONE)],
    [say("v_mfma_f32_4x4x4_16b_f16", MADE, of=(PAIR, PAIR, 0)), *MOVES[:WIDTH]],
    [Copy(ALONE.all, ITEM.all), move(HOME, ALONE)],
    [*SUMS, move(HOME, MADE.parts()[1])],
    [add(ALONE, 1, 1), say("s_mov_b64", "exec", of=(SAVED,)), move(HOME, ALONE)],
    [say("v_pk_add_f32", PAIR, of=(PAIR, PAIR)),
     move(KEPT.parts()[1], PAIR.parts()[0]), move(KEPT.parts()[2], PAIR.parts()[1])],
], ids=["read behind", "written twice", "two homes", "home written", "all lanes",
        "copied", "a part alone", "other lanes", "at odd registers"])  # fmt: skip
def test_what_others_need_stays(body):
    assert left(body) == [line for line in body if getattr(line, "keeps", ())]


def test_what_is_read_behind_the_condition_is_computed_apart():
    lines = conditional([*SUMS, *MOVES])
    found = in_place([*lines, add(Virtual(), NEW[0], 1)], FIXED)
    assert [line for line in found if line in MOVES] == MOVES


def test_values_with_given_registers_stay():
    lines = conditional([*SUMS, *MOVES])
    assert in_place(lines, {**FIXED, MADE: FIXED[ITEM]}) == lines
