"""Operands with the other sign are what an instruction of its own would make."""

from __future__ import annotations

import numpy as np
import pytest
from test_fusing import PI, WORDS, loaded_words, random_floats, run, say

from wave_backend_asm.code import Part
from wave_backend_asm.machine.instruction import Instruction
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.machine.signs import taken

SIGN, ONE = 0x80000000, 0x3F800000
NUMBER = float(np.uint32(PI).view(np.float32))

TAKING = {
    "v_fma_f32": ("MXY", lambda x, y: -x * x + y),
    "v_mul_f32": ("MY", lambda x, y: -x * y),
    "v_add_f32": ("YM", lambda x, y: y - x),
    "v_sub_f32": ("YM", lambda x, y: y + x),
    "v_max_f32": ("MY", lambda x, y: np.maximum(-x, y)),
    "number * -x": ("PM", lambda x, y: -x * NUMBER + 0 * y),
    "number + -x": ("PM", lambda x, y: NUMBER - x + 0 * y),
    "number - -x": ("PM", lambda x, y: NUMBER + x + 0 * y),
    "-x * -x": ("MM", lambda x, y: x * x + 0 * y),
}
NAMES = {"number * -x": "v_mul_f32", "number + -x": "v_add_f32",
         "number - -x": "v_sub_f32", "-x * -x": "v_mul_f32"}  # fmt: skip


@pytest.mark.parametrize("word", TAKING)
def test_a_sign_is_taken_by_who_reads(word):
    words, out, minus = Virtual(WORDS), Virtual(2), Virtual().all
    sides, expected = TAKING[word]
    parts = {"X": Part(words, 0, 1), "Y": Part(words, 1, 1), "M": minus, "P": PI}
    operands = [parts[each] for each in sides]
    body = [
        say("v_xor_b32", minus, SIGN, parts["X"]),
        say(NAMES.get(word, word), Part(out, 0, 1), *operands),
        say("v_mov_b32", Part(out, 1, 1), 0),
    ]
    given = random_floats()
    text, found = run(loaded_words(body, words, out), given)
    assert "v_xor" not in text
    made = expected(*given[:, :2].T.astype(np.float64)).astype(np.float32)
    assert np.array_equal(found[:, 0].view(np.float32), made)


A, B, C, M = (Virtual().all for _ in range(4))
MINUS, WAVE = say("v_xor_b32", M, SIGN, A), Virtual(1, SCALARS).all
PRODUCT = say("v_mul_f32", C, M, B)


def names(lines):
    return [line.name for line in lines if isinstance(line, Instruction)]


@pytest.mark.parametrize(
    "lines",
    [
        [MINUS, say("v_add_u32", C, M, B)],
        [say("v_mov_b32", A, 0), MINUS, say("v_mov_b32", A, 1), PRODUCT],
        [say("v_xor_b32", M, SIGN, WAVE), PRODUCT],
        [say("v_xor_b32", M, ONE, A), PRODUCT],
        [MINUS, say("v_max_f32", C, PI, M)],
    ],
    ids=["integers", "another number", "of the wave", "another bit", "a literal"],
)
def test_a_sign_stays_an_instruction(lines):
    before = [say("v_mov_b32", each, 0) for each in (B,)]
    given = [*before, *lines]
    assert taken(given) == given


def test_a_sign_that_others_read_stays_for_them():
    lines = [say("v_mov_b32", A, 0), say("v_mov_b32", B, 0), MINUS, PRODUCT]
    assert names(taken(lines)) == ["v_mov_b32", "v_mov_b32", "v_mul_f32"]
    read = [*lines, say("v_add_u32", Virtual().all, M, B)]
    found = taken(read)
    assert names(found) == names(read)
    assert found[3].negates == (0,)
