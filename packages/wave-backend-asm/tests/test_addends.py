"""A product reads what it adds to where it lies, if that is wanted behind it."""

from __future__ import annotations

import numpy as np
import pytest
from test_ordering import say
from test_program import ARGUMENTS, ITEM, code_of

from wave_backend_asm.code import Part
from wave_backend_asm.machine.instruction import Copy
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_emulator_amdgcn import emulate, load

PRODUCT = "v_mfma_f32_16x16x16_f16"
FIRST, BETWEEN, SUMS, FACTOR = (Virtual(4) for _ in range(4))
POINTERS, PLACE = Virtual(4, SCALARS), Virtual()
SIDES = Part(FACTOR, 0, 2), Part(FACTOR, 2, 2)


@pytest.fixture(autouse=True)
def _in_vectors(monkeypatch):
    """What is loaded and stored lives in VGPRs, although it might in AGPRs."""
    name = "wave_backend_asm.machine.program.accumulators"
    monkeypatch.setattr(name, lambda *_: set())


def product(*sides):
    return say(PRODUCT, SUMS, of=(*(sides or SIDES), SUMS))


def stored(value, at):
    operands = (PLACE, value, Part(POINTERS, 2, 2))
    return say("global_store_dwordx4", of=operands, modifiers=f"offset:{16 * at}")


def program(*lines):
    """Words of a lane: what is added to, then both factors."""
    source = Part(POINTERS, 0, 2)
    loads = [
        say("global_load_dwordx4", to, of=(PLACE, source), modifiers=f"offset:{at}")
        for to, at in ((FIRST, 0), (FACTOR, 16))
    ]
    return [
        say("s_load_dwordx4", POINTERS, of=(ARGUMENTS, 0)),
        say("v_lshlrev_b32_e32", PLACE, of=(5, ITEM)),
        *loads,
        *lines,
        say("s_endpgm"),
    ]


def run(*lines):
    """The text, and what is stored: two times four words of each lane."""
    made, data = code_of(program(*lines), "gfx950")
    rng = np.random.default_rng(5)
    words = rng.standard_normal((64, 4)).astype(np.float32)
    halves = rng.standard_normal((64, 8)).astype(np.float16)
    given = np.concatenate([words, halves.view(np.float32)], axis=1)
    found = np.zeros_like(given)
    result = emulate(load(data), (given, found), grid=(1, 1, 1))
    assert result.reports == ()
    return [*made.lines], words, found[:, :4], found[:, 4:]


COPIES = [Copy(BETWEEN.all, FIRST.all), Copy(SUMS.all, BETWEEN.all)]


def test_what_is_read_again_is_not_copied():
    last, words, sums, kept = run(*COPIES, product(), stored(SUMS, 0))
    assert not kept.any()
    lines, _, same, kept = run(*COPIES, product(), stored(SUMS, 0), stored(FIRST, 1))
    assert np.array_equal(kept, words)
    assert np.array_equal(same, sums)
    assert not np.array_equal(sums, words)
    assert "v_mov" not in " ".join([*lines, *last])


OTHER = Virtual()
WORD = FIRST.parts()[0]


@pytest.mark.parametrize("between", [
    [say("v_mov_b32", WORD, of=(0,))],
    [say("v_add_f32", OTHER, of=(SUMS.parts()[0], 1)), stored(SUMS, 1)],
    [say("v_mov_b32", SUMS.parts()[0], of=(0,))],
], ids=["what is copied changes", "the copy is read", "the copy changes"])  # fmt: skip
def test_a_copy_that_somebody_needs_stays(between):
    lines, *_ = run(*COPIES, *between, product(), stored(SUMS, 0), stored(FIRST, 1))
    assert "v_mov_b64" in " ".join(lines)


def test_a_copy_that_is_a_factor_stays():
    sides = Part(SUMS, 0, 2), SIDES[1]
    lines, *_ = run(*COPIES, product(*sides), stored(SUMS, 0), stored(FIRST, 1))
    assert "v_mov_b64" in " ".join(lines)
