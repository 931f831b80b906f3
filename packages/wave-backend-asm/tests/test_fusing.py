"""One instruction that does the work of two gives what the two give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wave_backend_asm.allocate.budget import Budget
from wave_backend_asm.allocate.files import Place
from wave_backend_asm.assemble.document import Argument, Kernel, document
from wave_backend_asm.bindings import assemble
from wave_backend_asm.code import Part
from wave_backend_asm.machine.fusing import fused
from wave_backend_asm.machine.instruction import Copy, Instruction, Label
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.machine.program import assembled_program
from wave_emulator_amdgcn import emulate, load

ARGUMENTS, ITEM = Virtual(2, SCALARS), Virtual()
FIXED = {ARGUMENTS: Place("s", 0), ITEM: Place("v", 0)}
WORDS = 6


def say(name, result, *operands, **more):
    return Instruction(name, (result,), operands, **more)


def loaded_words(body, words, out):
    """A program that loads words of each lane, runs something and stores two."""
    pointers, place, to = Virtual(4, SCALARS), Virtual(), Virtual()
    first, second = (Part(pointers, at, 2) for at in (0, 2))
    wide, rest = Part(words, 0, 4), Part(words, 4, 2)
    return [
        say("s_load_dwordx4", pointers.all, ARGUMENTS.all, 0),
        say("v_mul_u32_u24_e32", place.all, 4 * WORDS, ITEM.all),
        say("v_lshlrev_b32_e32", to.all, 3, ITEM.all),
        say("global_load_dwordx4", wide, place.all, first),
        say("global_load_dwordx2", rest, place.all, first, modifiers="offset:16"),
        *body,
        Instruction("global_store_dwordx2", (), (to.all, out.all, second)),
        Instruction("s_endpgm"),
    ]


def unchanged(lines, **_):
    return [*lines]


def run(lines, given, chip="gfx942"):
    made = assembled_program(lines, chip, Budget.of_waves(1), FIXED)
    arguments = (Argument(pointer=True),) * 2
    kernel = Kernel("k", chip, arguments, made.lines, made.allocation.used, 64)
    found = np.full((64, 2), 0xDEADBEEF, np.uint32)
    data = assemble(document(kernel), chip)
    assert emulate(load(data), (given, found), grid=(1, 1, 1)).reports == ()
    text = " ".join(made.lines)
    return text, found


def both(first, second, at=0, *, late=False, number=None, modifiers=("", "")):
    """A program of two operations, the first of which makes an operand of the other."""
    width = 2 if "_pk_" in first else 1
    words, out, made = Virtual(WORDS), Virtual(2), Virtual(width)
    x, y, z = (Part(words, width * n, width) for n in range(3))
    distance = first.startswith("v_lshl")
    sides = [3 if distance else x if number is None else number, y]
    other = [5 if second.startswith("v_lshl") else z]
    other.insert(at, made.all)
    result = Part(out, 0, width)
    rest = [] if width == 2 else [say("v_mov_b32", Part(out, 1, 1), 0)]
    body = [
        say(first, made.all, *sides, modifiers=modifiers[0], late=late),
        say(second, result, *other, modifiers=modifiers[1], late=late),
        *rest,
    ]
    return loaded_words(body, words, out)


def random_words():
    rng = np.random.default_rng()
    return rng.integers(0, 1 << 32, (64, WORDS), dtype=np.uint32)


def random_floats():
    return np.random.default_rng().normal(size=(64, WORDS)).astype(np.float32)


WHOLE = [
    ("v_lshlrev_b32", "v_add_u32", "v_lshl_add_u32"),
    ("v_lshlrev_b32", "v_or_b32", "v_lshl_or_b32"),
    ("v_add_u32", "v_lshlrev_b32", "v_add_lshl_u32"),
    ("v_add_u32", "v_add_u32", "v_add3_u32"),
    ("v_xor_b32", "v_add_u32", "v_xad_u32"),
    ("v_mul_u32_u24", "v_add_u32", "v_mad_u32_u24"),
    ("v_and_b32", "v_or_b32", "v_and_or_b32"),
    ("v_or_b32", "v_or_b32", "v_or3_b32"),
    *[
        (f"v_{which}_{kind}",) * 2 + (f"v_{which}3_{kind}",)
        for which in ("max", "min")
        for kind in ("i32", "u32")
    ],
]


@pytest.mark.parametrize(("first", "second", "name"), WHOLE)
@pytest.mark.parametrize("at", [0, 1])
def test_words_are_those_of_the_two(first, second, name, at, monkeypatch):
    at = 1 if second.startswith("v_lshl") else at
    lines, given = both(first, second, at), random_words()
    one, found = run(lines, given)
    assert name in one
    monkeypatch.setattr("wave_backend_asm.machine.program.fused", unchanged)
    two, expected = run(lines, given)
    assert name not in two
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("which", ["max", "min"])
def test_extremes_of_three_are_those_of_two_and_one(which):
    given = random_floats()
    text, found = run(both(f"v_{which}_f32", f"v_{which}_f32", 1), given)
    assert f"v_{which}3_f32" in text
    extreme = getattr(given[:, :3], which)(axis=1)
    assert np.array_equal(found[:, 0].view(np.float32), extreme)


EXTREME, NUMBERS = "v_maximum3_f32", (np.nan, 1.0, -2.0)


@pytest.mark.parametrize("doubled", [False, True])
def test_extremes_that_keep_nan_take_three_numbers(doubled):
    """The second operand stands for the third as well until there is another one."""
    words, out, made = Virtual(WORDS), Virtual(2), Virtual().all
    x, y, z = (Part(words, n, 1) for n in range(3))
    sides = (z, made, made) if doubled else (made, z, z)
    body = [
        say(EXTREME, made, x, y, y), say(EXTREME, Part(out, 0, 1), *sides),
        say("v_mov_b32", Part(out, 1, 1), 0),
    ]  # fmt: skip
    given = np.random.default_rng(3).choice(NUMBERS, (64, WORDS)).astype(np.float32)
    text, found = run(loaded_words(body, words, out), given, "gfx950")
    assert text.count(EXTREME) == 1
    expected = given[:, :3].max(axis=1)
    np.testing.assert_array_equal(found[:, 0].view(np.float32), expected)


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize(("word", "sign"), [("add", 1), ("sub", -1)])
def test_a_product_is_rounded_with_its_sum(word, sign, at):
    given = random_floats()
    text, found = run(both("v_mul_f32", f"v_{word}_f32", at, late=True), given)
    assert "v_fma_f32" in text
    x, y, z = given.astype(np.float64).T[:3]
    expected = z + sign * x * y if at else x * y + sign * z
    assert np.array_equal(found[:, 0].view(np.float32), expected.astype(np.float32))


PI = 0x40490FDB


@pytest.mark.parametrize(("chip", "name"), [
    ("gfx90a", "v_mul_f32"), ("gfx942", "v_fmamk_f32"), ("gfx950", "v_fmamk_f32"),
])  # fmt: skip
def test_a_product_with_a_number_has_it_in_the_instruction(chip, name):
    """CDNA2 has no such instruction: the product stays, and is rounded alone."""
    given = random_floats()
    lines = both("v_mul_f32", "v_add_f32", late=True, number=PI)
    text, found = run(lines, given, chip)
    assert name in text
    product = float(np.uint32(PI).view(np.float32)) * given[:, 1].astype(np.float64)
    product = product.astype(np.float32) if chip == "gfx90a" else product
    expected = (product + given[:, 2]).astype(np.float32)
    assert np.array_equal(found[:, 0].view(np.float32), expected)


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("minus", [0, 1])
def test_pairs_keep_their_signs(at, minus):
    given = random_floats()
    signs = f"neg_lo:[0,{minus}] neg_hi:[0,{minus}]"
    lines = both("v_pk_mul_f32", "v_pk_add_f32", at, late=True, modifiers=("", signs))
    text, found = run(lines, given)
    assert "v_pk_fma_f32" in text
    x, y, z = (given[:, at : at + 2].astype(np.float64) for at in (0, 2, 4))
    one, two = (z, x * y) if at else (x * y, z)
    expected = one - two if minus else one + two
    assert np.array_equal(found.view(np.float32), expected.astype(np.float32))


def names(lines):
    return [line.name for line in lines if isinstance(line, Instruction)]


A, B, C, D, E = (Virtual().all for _ in range(5))
MUL, ADD = say("v_mul_f32", D, A, B, late=True), say("v_add_f32", E, D, C, late=True)
SCALAR, OTHER = (Virtual(1, SCALARS).all for _ in range(2))
LITERAL = 0x12345


@pytest.mark.parametrize(
    "lines",
    [
        [replace(MUL, late=False), ADD],
        [MUL, replace(ADD, late=False)],
        [MUL, Label("here"), ADD],
        [MUL, Copy(A, C), ADD, Copy(A, C)],
        [MUL, ADD, say("v_mul_f32", C, D, D)],
        [MUL, say("v_add_f32", E, D, D, late=True)],
        [say("v_mul_f32", D, SCALAR, A, late=True), say("v_add_f32", E, OTHER, D,
                                                        late=True)],
        [say("v_lshlrev_b32", D, 2, A), say("v_add_u32", E, LITERAL, D)],
        [say("v_lshlrev_b32", D, 2, A), say("v_lshlrev_b32", E, D, A)],
        [say("v_add_u32", D, B, A), say("v_lshlrev_b32", E, D, A)],
        [Copy(D, A), MUL, ADD],
        [replace(MUL, keeps=(D,)), ADD],
    ],
    ids=["the first is exact", "the second is exact", "a label", "another value",
         "another reader", "both operands", "two of the wave", "a number", "a distance",
         "a sum as the distance", "two results", "a part"],
)  # fmt: skip
def test_two_stay_two(lines):
    assert fused(lines) == lines


def test_all_who_read_a_result_do_its_work():
    shift = say("v_lshlrev_b32", D, 2, A)
    readers = [say("v_add_u32", each, D, B) for each in (C, E)]
    assert names(fused([shift, *readers])) == ["v_lshl_add_u32"] * 2


def test_what_does_the_work_of_two_is_no_part_of_a_third():
    lines = [say("v_add_u32", C, A, B), say("v_add_u32", D, A, C),
             say("v_add_u32", E, D, B)]  # fmt: skip
    assert names(fused(lines)) == ["v_add3_u32", "v_add_u32"]


def test_what_nobody_else_reads_is_the_first_to_go():
    """The other shift stays for others; a sum of both needs one instruction only."""
    words, out, wide = Virtual(WORDS), Virtual(2), Virtual()
    shifts = [Virtual(), Virtual()]
    body = [
        say("v_lshlrev_b32", wide.all, 10, words.parts()[0]),
        *[
            say("v_lshlrev_b32", each.all, 4, part)
            for each, part in zip(shifts, words.parts()[1:], strict=False)
        ],
        *[
            say("v_add_u32", to, wide.all, each.all)
            for each, to in zip(shifts, out.parts(), strict=True)
        ],
    ]
    given = random_words()
    text, found = run(loaded_words(body, words, out), given)
    assert text.count("v_lshl_add_u32") == 2
    assert text.count("v_lshlrev_b32 ") == 1
    assert np.array_equal(found, (given[:, :1] << 10) + (given[:, 1:3] << 4))
