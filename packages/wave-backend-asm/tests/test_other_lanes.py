"""An operand comes from other lanes as it does where a move is in front."""

from __future__ import annotations

import numpy as np
import pytest
from test_fusing import WORDS, loaded_words, random_floats, random_words, run, say

from wave_backend_asm.code import Part
from wave_backend_asm.machine.instruction import Label
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.machine.other_lanes import from_other_lanes

PAIRS = "quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
FLOATS = [f"v_{what}_f32" for what in ("add", "mul", "min", "max")]
OTHERS = [
    *("v_min_i32", "v_max_i32", "v_min_u32", "v_max_u32", "v_and_b32", "v_or_b32"),
    *("v_xor_b32", "v_add_u32", "v_sub_u32", "v_subrev_u32"),
]


def program(name, at, *, how=PAIRS, between=(), beside=None):
    """A word of another lane, and what is made of it and a word of the own lane."""
    words, out, moved = Virtual(WORDS), Virtual(2), Virtual()
    sides = [Part(words, 1, 1) if beside is None else beside]
    sides.insert(at, moved.all)
    body = [
        say("v_mov_b32_dpp", moved.all, Part(words, 0, 1), modifiers=how),
        *between,
        say(name, Part(out, 0, 1), *sides),
        say("v_mov_b32", Part(out, 1, 1), 0),
    ]
    return loaded_words(body, words, out), moved


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("name", [*FLOATS, *OTHERS])
def test_words_are_those_of_a_move_and_an_instruction(name, at, monkeypatch):
    given = random_floats() if name in FLOATS else random_words()
    given = given.view(np.uint32)
    lines, _ = program(name, at)
    one, found = run(lines, given)
    assert "v_mov_b32_dpp" not in one
    monkeypatch.setattr("wave_backend_asm.machine.program.from_other_lanes", list)
    two, expected = run(lines, given)
    assert "v_mov_b32_dpp" in two
    assert np.array_equal(found, expected)


def kept(lines):
    return "v_mov_b32_dpp" in [
        line.name for line in from_other_lanes(lines) if not isinstance(line, Label)
    ]


def test_it_stays_where_lanes_or_the_place_change_between():
    assert not kept(program("v_add_u32", 0)[0])
    lanes = say("s_mov_b64", "exec", -1)
    assert kept(program("v_add_u32", 0, between=[lanes])[0])
    assert kept(program("v_add_u32", 0, between=[Label("")])[0])


def test_it_stays_where_somebody_else_reads_it_or_its_operand_changes():
    lines, moved = program("v_add_u32", 0)
    again = say("v_mov_b32", Virtual().all, moved.all)
    assert kept([*lines, again])
    at = next(n for n, line in enumerate(lines) if line.name == "v_mov_b32_dpp")
    other = say("v_mov_b32", lines[at].uses[0], 7)
    assert kept([*lines[: at + 1], other, *lines[at + 1 :]])


def test_it_stays_beside_numbers_and_registers_of_the_wave():
    assert kept(program("v_add_u32", 0, beside=5)[0])
    assert kept(program("v_add_u32", 0, beside=Virtual(1, SCALARS).all)[0])
