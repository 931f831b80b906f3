"""What a loop loads for its next turn is loaded to where it is read, if it may be."""

from __future__ import annotations

import numpy as np
import pytest
from test_ordering import say
from test_program import ARGUMENTS, ITEM, code_of

from wave_backend_asm.code import Part
from wave_backend_asm.machine.instruction import Copy, Label
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_emulator_amdgcn import emulate, load

TURNS, ROW = 5, 64 * 16
"""Turns of the loop, each of which stores what the one before has loaded: a row."""

POINTERS, COUNT = Virtual(4, SCALARS), Virtual(1, SCALARS)
FROM, TO, OTHER = Virtual(), Virtual(), Virtual()
QUAD, EPILOGUE = Virtual(4), Virtual(4)
HALVES = [Virtual(2), Virtual(2)]
LOADED = [Virtual(2), Virtual(2)]
FIRST = [Virtual(2), Virtual(2)]

GATHER = [
    Copy(to, of)
    for quarter, half in enumerate(HALVES)
    for to, of in zip(QUAD.parts()[2 * quarter :], half.parts(), strict=False)
]
STORE = say("global_store_dwordx4", of=(TO, QUAD, Part(POINTERS, 2, 2)))
TAKE = [Copy(half.all, of.all) for half, of in zip(HALVES, LOADED, strict=True)]


def loads(results):
    """Both halves of the row that comes next."""
    found = [
        say(
            "global_load_dwordx2", to, of=(FROM, Part(POINTERS, 0, 2)),
            modifiers=f"offset:{8 * at}",
        )
        for at, to in enumerate(results)
    ]  # fmt: skip
    return [*found, say("v_add_u32", FROM, of=(FROM, OTHER))]


def program(turn, gathered=GATHER):
    """A loop, and behind it what the last turn has loaded."""
    then = [
        Copy(to, of)
        for quarter, half in enumerate(HALVES)
        for to, of in zip(EPILOGUE.parts()[2 * quarter :], half.parts(), strict=False)
    ]
    step = say("v_add_u32", TO, of=(TO, OTHER))
    return [
        say("s_load_dwordx4", POINTERS, of=(ARGUMENTS, 0)),
        say("v_mov_b32", OTHER, of=(ROW,)),
        say("v_lshlrev_b32_e32", FROM, of=(4, ITEM)),
        say("v_lshlrev_b32_e32", TO, of=(4, ITEM)),
        *loads(FIRST),
        *[Copy(half.all, of.all) for half, of in zip(HALVES, FIRST, strict=True)],
        say("s_mov_b32", COUNT, of=(TURNS,)),
        Label("again", 1),
        *gathered,
        *turn,
        step,
        say("s_sub_u32", COUNT, of=(COUNT, 1)),
        say("s_cmp_lg_u32", of=(COUNT, 0)),
        say("s_cbranch_scc1", target="again"),
        Label("done", 0),
        *then,
        say("global_store_dwordx4", of=(TO, EPILOGUE, Part(POINTERS, 2, 2))),
        say("s_endpgm"),
    ]


def run(*turn, **more):
    """The text of the loop, what was given, and what is stored."""
    made, data = code_of(program(turn, **more), "gfx950")
    rng = np.random.default_rng(3)
    given = rng.integers(0, 1 << 31, (TURNS + 1, ROW // 4), np.int32)
    found = np.zeros_like(given)
    result = emulate(load(data), (given, found), grid=(1, 1, 1))
    assert result.reports == ()
    lines = [*made.lines]
    loop = lines[lines.index("again:") : lines.index("done:")]
    return " ".join(loop), given, found


def test_they_are_loaded_to_where_they_are_read():
    loop, given, found = run(STORE, *loads(LOADED), *TAKE)
    assert np.array_equal(found, given)
    assert "v_mov" not in loop


def test_what_is_loaded_while_the_tuple_is_wanted_is_copied():
    loop, given, found = run(*loads(LOADED), STORE, *TAKE)
    assert np.array_equal(found, given)
    assert "v_mov" in loop


ONE, TWO, *OTHERS = GATHER
CROSSWISE = [Copy(ONE.result, TWO.operand), Copy(TWO.result, ONE.operand)]
NUMBER = say("v_mov_b32", ONE.result, of=(7,))


@pytest.mark.parametrize(("gathered", "words"), [
    ([*CROSSWISE, *OTHERS], lambda row: row[..., 1::-1]),
    ([NUMBER, TWO, *OTHERS], lambda row: np.insert(row[..., 1:], 0, 7, 2)),
], ids=["crosswise", "one of them is a number"])  # fmt: skip
def test_what_lies_otherwise_in_the_tuple_is_copied(gathered, words):
    loop, given, found = run(STORE, *loads(LOADED), *TAKE, gathered=gathered)
    rows = given.reshape(TURNS + 1, -1, 4).copy()
    rows[:-1, :, :2] = words(rows[:-1, :, :2].copy())
    assert np.array_equal(found.reshape(rows.shape), rows)
    assert "v_mov" in loop
