"""What operations on elements become."""

from __future__ import annotations

import numpy as np
import pytest

from wave_backend_asm.code import Part
from wave_backend_asm.machine.forwarding import forwarded
from wave_backend_asm.machine.instruction import Copy, Instruction, Label
from wave_backend_asm.machine.operands import (
    SCALARS,
    VECTORS,
    Virtual,
    is_scalar,
    signed,
)
from wave_backend_asm.machine.unread import without_unread
from wave_backend_asm.select import floats
from wave_backend_asm.select.basics import basic
from wave_backend_asm.select.builder import Builder, consecutive
from wave_backend_asm.select.data import Datum, bits_of_item, words_of
from wave_backend_asm.select.divisions import divide
from wave_backend_asm.select.doubles import DOUBLES
from wave_backend_asm.select.floats import ONE, floats_of
from wave_backend_asm.select.instructions import AsmInstructions
from wave_backend_asm.select.integers import compared_wide, wide
from wave_backend_asm.select.vectors import elements, joined
from wave_core.backends.emission import Kind
from wave_core.types import DTYPES

HALVES = Kind("f16", 4)


def words(count):
    return Virtual(count).parts()


def made(builder):
    """The instructions that somebody could need."""
    return [line for line in builder.blocks[0].lines if not isinstance(line, Label)]


def test_halves_that_come_together_again_are_the_word():
    b, given = Builder("gfx942"), words(2)
    assert joined(b, HALVES, elements(b, Datum(HALVES, given))) == given


@pytest.mark.parametrize("low", range(4))
@pytest.mark.parametrize("high", range(4))
def test_halves_are_taken_from_where_they_are(low, high):
    """By one choice of bytes, whose result is computed here by its definition."""
    b, given = Builder("gfx942"), words(2)
    parts = elements(b, Datum(HALVES, given))
    (found,) = joined(b, Kind("f16", 2), [parts[low], parts[high]])
    values = dict(zip(given, (0x11110000, 0x33332222), strict=True))
    expected = 0x1111 * low | 0x1111 * high << 16
    if found in values:
        assert values[found] == expected
        return
    number, line = made(b)[-2:]
    assert [number.name, line.name] == ["s_mov_b32", "v_perm_b32"]
    upper, lower, _ = line.operands
    (choice,) = number.operands
    data = values[upper] << 32 | values[lower]
    picked = [data >> 8 * (choice >> 8 * n & 0xFF) & 0xFF for n in range(4)]
    assert sum(byte << 8 * n for n, byte in enumerate(picked)) == expected


@pytest.mark.parametrize("word", ["shli", "shrui", "shrsi"])
@pytest.mark.parametrize("item", ["i8", "i16"])
def test_a_distance_is_that_of_its_element_alone(item, word):
    """Elements of a constant share a word; what lies above one says nothing."""
    b, kind = Builder("gfx942"), Kind(item, 2)
    make, dtype = AsmInstructions(b), DTYPES[item]
    given = make.apply("andi", kind, b.of(kind, words(1)), make.constant(7, dtype, 2))
    make.apply(word, kind, given, make.constant(3, dtype, 2))
    distances = {
        line.operands[0]
        for line in made(b)
        if isinstance(line, Instruction) and line.name.startswith("v_l")
    }
    assert distances <= {3, 8, 16, 24}


@pytest.mark.parametrize(
    "word", ["addf", "subf", "mulf", "divf", "maximumf", "minimumf", "olt", "une"]
)
@pytest.mark.parametrize("numbers", [(3.0, 3.0), (3.0, 5.0), (3.0, 1.0), (3.0, None)])
def test_one_number_of_the_wave_is_an_operand_of_lanes(word, numbers):
    """Which may be several of its operands; two pairs of registers are too many."""
    b, kind, dtype = Builder("gfx942"), Kind("f64", 1), DTYPES["f64"]
    make = AsmInstructions(b)
    given = [
        b.of(kind, words(2)) if each is None else make.constant(each, dtype, 1)
        for each in numbers
    ]
    if word in DOUBLES:
        make.apply(word, kind, *given)
    else:
        make.compare(word, kind, *given)
    for line in made(b):
        if isinstance(line, Instruction) and line.name.startswith("v_"):
            read = {each for each in line.operands if isinstance(each, Part)}
            scalars = {each for each in read if is_scalar(each)}
            assert len(scalars) <= 1
            assert line.name != "v_mov_b32" or {each.width for each in read} <= {1}


@pytest.mark.parametrize("item", ["f16", "bf16"])
def test_two_elements_are_converted_at_once_where_the_chip_can(item):
    names = {}
    for chip in ("gfx942", "gfx950"):
        b = Builder(chip)
        given = b.of(Kind("f32", 5), words(5))
        found = AsmInstructions(b).convert("truncf", Kind("f32", 5), item, given)
        assert len(b.words(found)) == 3
        names[chip] = [line.name for line in made(b)]
    assert names["gfx950"] == [f"v_cvt_pk_{item}_f32"] * 3
    assert len(names["gfx942"]) > 5


def test_what_nobody_reads_is_left_out():
    one, two, three = (Virtual().all for _ in range(3))
    lines = [
        Instruction("v_mov_b32", (one,), (1,)),
        Instruction("v_add_f32", (two,), (one, one)),  # for the next one alone
        Instruction("v_mul_f32", (three,), (two, two)),
    ]
    assert without_unread(lines) == []
    kept = [*lines, Instruction("global_store_dword", (), (three, three, "off"))]
    assert without_unread(kept) == kept


def test_what_a_loop_computes_for_nobody_but_its_next_turn_is_left_out():
    one, two, three = (Virtual().all for _ in range(3))
    loop = Label(".Lloop")
    jump = Instruction("s_cbranch_scc1", target=".Lloop")
    lines = [
        loop,
        Instruction("v_mul_f32", (three,), (two, two)),  # what the turn before made
        Instruction("v_mov_b32", (one,), (1,)),
        Instruction("v_add_f32", (two,), (one, one)),
        jump,
    ]
    assert without_unread(lines) == [loop, jump]


@pytest.mark.parametrize(
    ("name", "modifiers"),
    [("buffer_load_dword", "offen lds"), ("buffer_load_dword", "offen sc0 sc1"),
     ("buffer_atomic_add", "offen sc0"), ("s_and_b32", ""), ("ds_add_rtn_u32", "")],
)  # fmt: skip
def test_what_does_more_than_to_give_a_result_stays(name, modifiers):
    result, at = Virtual().all, Virtual().all
    lines = [Instruction(name, (result,), (at,), modifiers)]
    assert without_unread(lines) == lines


def of_the_wave(*rows):
    """Instructions whose results nobody reads, and one that is wanted."""
    made = [Instruction(name, (), (1, 2)) if name.startswith("s_cmp")
            else Instruction(name, (Virtual(1, SCALARS).all,), (1, 2))
            for name in rows]  # fmt: skip
    return [*made, Instruction("s_barrier")]


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        (("s_cmp_lt_i32", "s_cmp_eq_u32"), ("s_cmp_eq_u32",)),  # behind it is anything
        (("s_cmp_lt_i32", "s_cselect_b32", "s_add_i32"), ("s_add_i32",)),
        (("s_and_b32", "s_mul_i32", "s_mov_b32"), ("s_and_b32",)),
        (("s_and_b32", "s_addc_u32"), ("s_and_b32", "s_addc_u32")),
    ],
)
def test_what_the_wave_computes_for_nobody_is_left_out(rows, left):
    found = without_unread(of_the_wave(*rows))
    assert [line.name for line in found] == [*left, "s_barrier"]


def test_a_condition_that_a_jump_asks_for_stays():
    asked = Instruction("s_cmp_lt_i32", (), (1, 2))
    again = Instruction("s_cmp_lt_i32", (), (1, 2))
    jump = Instruction("s_cbranch_scc1", target=".Lthere")
    assert without_unread([asked, jump, again, jump]) == [asked, jump, again, jump]
    assert without_unread([asked, again, jump]) == [again, jump]


def test_a_result_in_a_register_with_a_name_stays():
    value = Virtual().all
    results = (value, "vcc")
    lines = [Instruction("v_div_scale_f32", results, (value, value, value))]
    assert without_unread(lines) == lines


F32 = Kind("f32", 8)


def together(word, one, two, chip="gfx942"):
    """An operation on two lists of words; its instructions, and its result."""
    b = Builder(chip)
    names = [b.of(F32, words) for words in (one, two)]
    found = b.words(AsmInstructions(b).apply(word, F32, *names))
    return made(b), found


@pytest.mark.parametrize("word", ["addf", "subf", "mulf"])
def test_neighbours_are_computed_two_by_two(word):
    one, two = words(8), words(8)
    lines, found = together(word, one, two)
    assert [line.name for line in lines] == [
        f"v_pk_{'mul' if word == 'mulf' else 'add'}_f32"
    ] * 4
    assert lines[1].operands == (Part(one[0].value, 2, 2), Part(two[0].value, 2, 2))
    assert all(("neg_lo:[0,1]" in line.modifiers) == (word == "subf") for line in lines)
    assert consecutive(found, VECTORS) is not None


def test_one_operand_of_all_lies_in_two_registers():
    shared = Virtual().all
    lines, _ = together("mulf", words(8), (shared,) * 8)
    copies = [line for line in lines if isinstance(line, Copy)]
    assert [line.operand for line in copies] == [shared] * 2
    assert len(lines) == 2 + 4


@pytest.mark.parametrize("turned", [False, True])
def test_what_is_made_word_by_word_is_made_side_by_side(turned):
    """Where each word has one place: it is that of the pair that wants it first."""
    b, kind = Builder("gfx942"), Kind("f32", 2)
    make, given = AsmInstructions(b), b.of(Kind("f32", 2), words(2))
    powers = make.apply("exp2", kind, given, fast=True)
    first = make.apply("mulf", kind, powers, given)
    one, two = b.words(powers)
    again = make.apply("addf", kind, b.of(kind, (two, one) if turned else (one, two)),
                       given)  # fmt: skip
    b.say("buffer_store_dwordx2", (), (b.together(b.words(first)),))
    b.say("buffer_store_dwordx2", (), (b.together(b.words(again)),))
    lines = forwarded(made(b), ())
    assert not [line for line in lines if isinstance(line, Copy) and not turned]
    names = [line.name for line in lines if isinstance(line, Instruction)]
    assert names.count("v_pk_mul_f32") == 1
    assert names.count("v_pk_add_f32") == 1 - turned


def test_what_another_region_makes_word_by_word_is_not_put_side_by_side():
    b, kind = Builder("gfx942"), Kind("f32", 2)
    make, given = AsmInstructions(b), b.of(Kind("f32", 2), words(2))
    powers = make.apply("exp2", kind, given, fast=True)
    with b.region() as inner:
        make.apply("mulf", kind, powers, given)
    assert [line.name for line in inner.lines] == ["v_mul_f32"] * 2


@pytest.mark.parametrize("count", [1, 8])
@pytest.mark.parametrize("fast", [False, True])
def test_once_a_number_is_that_number(count, fast):
    b, kind = Builder("gfx942"), Kind("f32", count)
    make, given = AsmInstructions(b), b.of(Kind("f32", count), words(count))
    one = make.constant(1.0, DTYPES["f32"], count)
    for sides in ((given, one), (one, given)):
        assert b.words(make.apply("mulf", kind, *sides, fast=fast)) == b.words(given)
    assert made(b) == []


def test_a_number_is_read_by_both_halves():
    lines, _ = together("addf", (ONE,) * 8, words(8))
    assert {line.modifiers for line in lines} == {"op_sel_hi:[0,1]"}


@pytest.mark.parametrize("turned", [False, True])
def test_a_number_with_a_word_of_its_own_is_moved_to_two_registers_at_once(turned):
    """Only the lower one is read: what the upper one is does not matter."""
    number = (floats.bits(0.3),) * 8
    lines, _ = together("mulf", *((number, words(8)) if turned else (words(8), number)))
    first, *others = lines
    assert (first.name, first.operands) == ("s_mov_b64", (floats.bits(0.3),))
    taken = "op_sel_hi:[0,1]" if turned else "op_sel_hi:[1,0]"
    assert [line.modifiers for line in others] == [taken] * 4


@pytest.mark.parametrize(
    "one",
    [tuple(Virtual().all for _ in range(8)), words(9)[1:], (*words(4), *words(5)[1:])],
    ids=["apart", "odd", "odd half"],
)
def test_what_lies_elsewhere_is_computed_one_by_one(one):
    lines, found = together("addf", one, words(8))
    assert [line.name for line in lines] == ["v_add_f32"] * 8
    assert len(found) == 8


def run_on(lines, given, number):
    """The values of words of lanes, by the definitions of their instructions."""
    values = {given: number}
    for line in lines:
        x, y, *rest = (values.get(each, each) for each in line.operands)
        name = line.name
        if name == "v_lshlrev_b32":
            found = y << x
        elif name == "v_lshrrev_b32":
            found = y >> x
        elif name == "v_ashrrev_i32":
            found = signed(y) >> x
        elif name == "v_and_b32":
            found = x & y
        else:
            found = x >> y & (1 << rest[0]) - 1
            if name == "v_bfe_i32" and found >> rest[0] - 1:
                found -= 1 << rest[0]
        values[line.results[0]] = found & 0xFFFFFFFF
    return values


CHAINS = [
    (("shrui", 12), ("andi", 15), ("shli", 28), ("shrsi", 28)),
    (("shrui", 12), ("andi", 15)),
    (("shrui", 24), ("andi", 0x1FF)),
    (("andi", 255), ("shli", 24), ("shrsi", 24)),
    (("andi", 255), ("shli", 20), ("shrsi", 24)),
    (("shli", 8), ("shrui", 20)),
    (("shli", 20), ("shrsi", 8)),
    (("shrui", 4), ("andi", 0xF0), ("shli", 24), ("shrsi", 28)),
]
"""Shifts and masks of a word; not all become fields."""


@pytest.mark.parametrize("chain", CHAINS)
def test_bits_in_a_row_are_taken_as_they_are_by_one_after_the_other(chain):
    b, given = Builder("gfx942"), Virtual().all
    word, number = given, 0xB96C35A7
    expected = number
    for how, by in chain:
        word = basic(b, how, word, by)
        value = signed(expected) if how == "shrsi" else expected
        expected = {"shli": value << by, "andi": value & by}.get(how, value >> by)
        expected &= 0xFFFFFFFF
    assert run_on(made(b), given, number)[word] == expected


@pytest.mark.parametrize("chain", [CHAINS[0], CHAINS[1], CHAINS[3], CHAINS[5]])
def test_bits_in_a_row_are_one_instruction(chain):
    b, given = Builder("gfx942"), Virtual().all
    word = given
    for how, by in chain:
        word = basic(b, how, word, by)
    store = Instruction("global_store_dword", (), (word, word, "off"))
    names = [line.name for line in without_unread([*made(b), store])]
    assert names[0].startswith("v_bfe_")
    assert names[1:] == ["global_store_dword"]


def test_one_divisor_has_one_reciprocal():
    b = Builder("gfx942")
    given, below = b.of(F32, words(8)), b.of(F32, (Virtual().all,) * 8)
    AsmInstructions(b).apply("divf", F32, given, below, fast=True)
    assert [line.name for line in made(b)].count("v_rcp_f32") == 1


@pytest.mark.parametrize("hoists", [True, False])
def test_code_that_was_to_go_further_out_is_known(hoists):
    b = Builder("gfx942")
    b.hoists = hoists
    with b.region() as inner:
        with b.at(1), b.at(None):
            b.valu("v_mov_b32", 1)
        assert not b.asked
        with b.at(0):
            b.valu("v_mov_b32", 2)
        assert b.asked
        assert len(inner.lines) == (1 if hoists else 2)


def test_a_name_that_was_to_be_of_a_region_further_out_is_known():
    b = Builder("gfx942")
    instructions = AsmInstructions(b)
    with b.region():
        instructions.once("key", lambda: b.of(Kind("i32"), [1]), 1)
        assert not b.asked
        instructions.once("key", lambda: b.of(Kind("i32"), [1]), 0)
        assert b.asked


MULTIPLIES = {
    "v_mul_hi_u32": lambda x, y: x * y >> 32,
    "v_sub_u32": lambda x, y: x - y,
    "v_add_u32": lambda x, y: x + y,
    "v_lshrrev_b32": lambda x, y: y >> x,
}


@pytest.mark.parametrize(
    "divisor", [3, 7, 19, 28, 641, 2**31 - 1, 2**31 + 1, 2**32 - 2, 2**32 - 1]
)
def test_a_number_divides_by_its_reciprocal(divisor):
    """By the definitions of the instructions; of some divisors it has 33 bits."""
    b, given = Builder("gfx942"), Virtual().all
    found = divide(b, given, divisor)
    multiple = 2**32 // divisor * divisor
    numbers = {0, 1, divisor - 1, divisor, multiple - 1, 2**32 - 1}
    numbers |= {*np.random.default_rng().integers(0, 2**32, 100).tolist()}
    for number in numbers:
        values = {given: number}
        for line in made(b):
            sides = [values.get(each, each) for each in line.operands]
            value = sides[0] if len(sides) == 1 else MULTIPLIES[line.name](*sides)
            values[line.results[0]] = value & 0xFFFFFFFF
        assert values[found] == number // divisor


def extended_word(b, word):
    """A word as 64 bits, by its sign."""
    kind = Kind("i32")
    make = AsmInstructions(b)
    return b.words(make.convert("extsi", kind, "i64", b.of(kind, (word,))))


def comparison(b, one, two):
    """The instruction that compares two numbers of 64 bits."""
    compared_wide(b, "slt", one, two)
    return made(b)[-1]


LIMITS = (-(2**31), -1, 0, 2048, 2**31 - 1)


@pytest.mark.parametrize("limit", [*LIMITS, None])
def test_numbers_that_are_words_are_compared_as_words(limit):
    b, one, two = Builder("gfx942"), Virtual().all, Virtual().all
    other = two if limit is None else limit & 0xFFFFFFFF
    found = comparison(b, extended_word(b, one), extended_word(b, other))
    assert found.name == "v_cmp_lt_i32_e64"
    assert found.operands[0] == one


@pytest.mark.parametrize("limit", LIMITS)
def test_numbers_of_the_wave_are_compared_by_it(limit):
    """A number on either side takes no register."""
    b, one = Builder("gfx942"), Virtual(1, SCALARS).all
    word, number = extended_word(b, one), extended_word(b, limit & 0xFFFFFFFF)
    for sides in ((word, number), (number, word)):
        assert comparison(b, *sides).name == "s_cselect_b64"
        test = made(b)[-2]
        assert test.name == "s_cmp_lt_i32"
        assert test.operands == tuple(side[0] for side in sides)
    assert "s_mov_b32" not in [line.name for line in made(b)]


def with_upper_word(b, upper):
    """A word with one above it that is not its sign."""
    low = Virtual().all
    return low, upper(b, low)


UPPER = {
    "another": lambda *_: Virtual().all,
    "none": lambda *_: 0,
    "all ones": lambda *_: 0xFFFFFFFF,
    "the sign of another": lambda b, _: extended_word(b, Virtual().all)[1],
    "not all of it": lambda b, low: basic(b, "shrsi", low, 30),
    "without a sign": lambda b, low: basic(b, "shrui", low, 31),
    "the sign of its half": lambda b, low: extended_word(b, basic(b, "shli", low, 16))[
        1
    ],
}


@pytest.mark.parametrize("upper", UPPER.values(), ids=UPPER)
def test_other_numbers_are_compared_by_both_words(upper):
    b = Builder("gfx942")
    other = with_upper_word(b, upper)
    found = comparison(b, extended_word(b, Virtual().all), other)
    assert found.name == "v_cmp_lt_i64_e64"


@pytest.mark.parametrize("limit", [2**31, -(2**31) - 1, 2**32, -(2**63), 2**63 - 1])
def test_numbers_beyond_words_are_compared_by_both(limit):
    b = Builder("gfx942")
    pair = limit & 0xFFFFFFFF, limit >> 32 & 0xFFFFFFFF
    found = comparison(b, extended_word(b, Virtual().all), pair)
    assert found.name == "v_cmp_lt_i64_e64"


def both(predicates, limits, files, order):
    """The instructions that compare a word with two numbers, where both hold."""
    b, kind = Builder("gfx942"), Kind("i32")
    make = AsmInstructions(b)
    word = b.of(kind, (Virtual(1, files).all,))
    masks = []
    for predicate, limit in zip(predicates, limits, strict=True):
        sides = [word, b.of(kind, (limit & 0xFFFFFFFF,))]
        masks.append(make.compare(predicate, kind, *sides[::order]))
    mask = b.words(make.apply("andi", Kind("i1"), *masks))[0]
    last = Instruction("s_and_saveexec_b64", (Virtual(2, SCALARS).all,), (mask,))
    names = [line.name for line in without_unread([*made(b), last])]
    return [name for name in names if "_cmp_" in name]


@pytest.mark.parametrize("files", [VECTORS, SCALARS])
@pytest.mark.parametrize("limit", [0, 99, 2**31 - 1])
@pytest.mark.parametrize("order", [1, -1])
def test_a_word_from_0_up_to_a_number_is_one_comparison(files, limit, order):
    wanted = "v_cmp_ge_u32_e64" if files == VECTORS else "s_cmp_ge_u32"
    predicates, limits = ("sge", "sle")[::order], (0, limit)
    assert both(predicates, limits, files, order) == [wanted]
    assert both(predicates[::-1], limits[::-1], files, order) == [wanted]


OTHERS = [
    (("sge", "sle"), (0, -1)), (("sge", "sle"), (0, -(2**31))),
    (("sge", "sle"), (1, 99)), (("sge", "sle"), (-1, 99)),
    (("sgt", "sle"), (0, 99)), (("sge", "sge"), (0, 99)), (("sle", "sle"), (0, 99)),
    (("uge", "sle"), (0, 99)), (("sge", "ule"), (0, 99)), (("sge", "ne"), (0, 99)),
]  # fmt: skip


@pytest.mark.parametrize(("predicates", "limits"), OTHERS)
@pytest.mark.parametrize("files", [VECTORS, SCALARS])
def test_other_comparisons_are_two(files, predicates, limits):
    assert len(both(predicates, limits, files, 1)) == 2


def test_comparisons_of_two_words_are_two():
    b, kind = Builder("gfx942"), Kind("i32")
    make = AsmInstructions(b)
    one, two = (b.of(kind, words(1)) for _ in range(2))
    zero, most = (b.of(kind, (number,)) for number in (0, 99))
    masks = make.compare("sge", kind, one, zero), make.compare("sge", kind, most, two)
    make.apply("andi", Kind("i1"), *masks)
    assert made(b)[-1].name == "s_and_b64"


def names_of(builder):
    return [line.name for line in without_unread(made(builder)) if not line.copies]


def test_the_wave_shifts_what_one_lane_has():
    b = Builder("gfx942")
    found = b.uniform(basic(b, "shrui", Virtual().all, 6))
    b.say("s_setprio", (), (found,))
    assert names_of(b) == ["v_readfirstlane_b32", "s_lshr_b32", "s_setprio"]


@pytest.mark.parametrize(("far", "near", "expected"), [
    (3, 0, ["s_lshl3_add_u32"]),
    (9, 7, ["s_lshl2_add_u32", "s_lshl_b32"]),
    (9, 4, ["s_lshl_b32", "s_lshl_b32", "s_add_i32"]),
    (4, 4, ["s_lshl_b32", "s_lshl_b32", "s_add_i32"]),
])  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_a_sum_of_the_wave_shifts_one_side(far, near, expected, turned):
    b, given = Builder("gfx942"), [Virtual(1, SCALARS).all for _ in range(2)]
    one, two = (
        basic(b, "shli", each, distance)
        for each, distance in zip(given, (far, near), strict=True)
    )
    found = basic(b, "addi", *((two, one) if turned else (one, two)))
    b.say("s_setprio", (), (found,))
    code = without_unread(made(b))
    assert [line.name for line in code[:-1]] == expected
    values = dict(zip(given, (5, 11), strict=True))
    for line in code[:-1]:
        x, y = (values.get(each, each) for each in line.operands)
        shift = int(line.name[6]) if line.name[6].isdigit() else None
        shifted = x << y if line.name == "s_lshl_b32" else x + y
        values[line.results[0]] = shifted if shift is None else (x << shift) + y
    assert values[found] == (5 << far) + (11 << near)


def test_sums_of_the_wave_share_what_they_shift():
    b, given = Builder("gfx942"), [Virtual(1, SCALARS).all for _ in range(2)]
    for more in (0, 3, 5):
        one, two = (
            basic(b, "shli", each, distance + more)
            for each, distance in zip(given, (4, 2), strict=True)
        )
        b.say("s_setprio", (), (basic(b, "addi", one, two),))
    assert names_of(b).count("s_lshl2_add_u32") == 1
    assert "s_add_i32" not in names_of(b)


def test_bytes_that_come_together_again_are_the_word():
    b, given, kind = Builder("gfx942"), words(2), Kind("i8", 8)
    assert joined(b, kind, elements(b, Datum(kind, given))) == given
    turned = [*reversed(elements(b, Datum(kind, given)))]
    assert set(given).isdisjoint(joined(b, kind, turned))


@pytest.mark.parametrize(
    ("how", "kind", "wide", "names"),
    [
        ("extf", Kind("f16", 2), "f32", ["v_cvt_f32_f16", "v_cvt_f32_f16_sdwa"]),
        ("extsi", Kind("i8", 4), "i32", ["v_bfe_i32"] * 4),
    ],
)
def test_parts_of_words_are_converted_where_they_are(how, kind, wide, names):
    b = Builder("gfx942")
    make, given = AsmInstructions(b), b.of(kind, words(1))
    for word in b.words(make.convert(how, kind, wide, given)):
        b.say("buffer_store_dword", (), (word,))
    assert names_of(b) == [*names, *["buffer_store_dword"] * len(names)]


def known(word, *numbers, fast=True):
    """What an operation on f32 that are known is, if no instruction computes it."""
    b = Builder("gfx942")
    table = floats_of("gfx942", fast=fast)
    found = table[word](b, *[floats.bits(each) for each in numbers])
    return None if made(b) else np.uint32(found).view(np.float32)


@pytest.mark.parametrize(("word", "numbers", "expected"), [
    ("addf", (1.0, 2.0**-24), 1.0), ("addf", (1.0, 3 * 2.0**-25), 1 + 2.0**-23),
    ("addf", (0.0, 0.0), 0.0), ("mulf", (3.0, -0.5), -1.5),
    ("mulf", (2.0**-100, 2.0**-49), 2.0**-149), ("mulf", (2.0**100, 2.0**100), None),
    ("mulf", (float("inf"), 0.0), None), ("maximumf", (-2.0, -2.0), -2.0),
])  # fmt: skip
def test_numbers_that_are_known_need_no_instruction(word, numbers, expected):
    assert known(word, *numbers) == expected


def test_zero_adds_nothing_where_its_sign_does_not_matter():
    (word,) = words(1)
    for fast in (False, True):
        b = Builder("gfx942")
        found = floats_of("gfx942", fast=fast)["addf"](b, word, 0)
        assert (found == word, len(made(b))) == (fast, 1 - fast)


def test_an_extreme_with_a_number_is_made_once():
    b, (word,) = Builder("gfx942"), words(1)
    larger = floats_of("gfx942", fast=True)["maximumf"]
    once = larger(b, word, ONE)
    assert [larger(b, once, ONE), larger(b, ONE, once)] == [once, once]
    assert larger(b, once, floats.bits(2.0)) != once


def test_what_computes_a_word_of_the_wave_is_known():
    b, given = Builder("gfx942"), Virtual(1, SCALARS).all
    found, kept = (basic(b, word, given, 64) for word in ("addi", "andi"))
    assert b.maker(found) == ("s_add_i32", (given, 64))
    assert b.maker(kept) is None


def test_fast_logarithms_are_those_of_the_machine():
    b, (word,) = Builder("gfx942"), words(1)
    b.say(
        "buffer_store_dword", (), (floats_of("gfx942", fast=True)["log"](b, word, 0),)
    )
    assert {"v_log_f32", "v_mul_f32"} < set(names_of(b))
    assert len(names_of(b)) < 12
    assert "log" not in floats_of("gfx942", fast=False)


@pytest.mark.parametrize(("word", "number", "quick"), [
    ("andi", 63, True), ("andi", (1 << 24) - 1, True), ("andi", 1 << 24, False),
    ("shrui", 8, True), ("shrui", 7, False), ("shrsi", 8, False), ("shli", 1, False),
])  # fmt: skip
@pytest.mark.parametrize("factor", [896, (1 << 24) - 1, 1 << 24 | 1, -3])
def test_products_of_few_bits_are_quick(word, number, quick, factor):
    b, (given,) = Builder("gfx942"), words(1)
    found = basic(b, "muli", basic(b, word, given, number), factor & 0xFFFFFFFF)
    assert isinstance(found, Part)
    quick = quick and 0 <= factor < 1 << 24
    name = "v_mul_u32_u24" if quick else "v_mul_lo_u32"
    assert made(b)[-1].name == name
    wave = Virtual(1, SCALARS).all
    assert basic(b, "muli", wave, 896) != found
    assert made(b)[-1].name == "s_mul_i32"


def test_few_bits_stay_few_behind_a_shift():
    b, (given,) = Builder("gfx942"), words(1)
    lane = basic(b, "andi", given, 63)
    basic(b, "muli", basic(b, "shrui", lane, 3), 896)
    assert made(b)[-1].name == "v_mul_u32_u24"


@pytest.mark.parametrize("turned", [False, True])
def test_of_three_addends_those_that_shift_alike_come_first(turned):
    b, given = Builder("gfx942"), [Virtual(1, SCALARS).all for _ in range(3)]
    far, near, other = (
        basic(b, "shli", each, distance)
        for each, distance in zip(given, (14, 13, 20), strict=True)
    )
    found = basic(b, "addi", *([near, other] if turned else [other, near]))
    found = basic(b, "addi", *([far, found] if turned else [found, far]))
    b.say("s_setprio", (), (found,))
    code = without_unread(made(b))[:-1]
    names = sorted(line.name for line in code)
    assert names == ["s_add_i32", "s_lshl1_add_u32", "s_lshl_b32", "s_lshl_b32"]
    values = dict(zip(given, (5, 11, 7), strict=True))
    for line in code:
        x, y = (values.get(each, each) for each in line.operands)
        shifted = {"s_lshl_b32": x << y, "s_lshl1_add_u32": (x << 1) + y}
        values[line.results[0]] = shifted.get(line.name, x + y)
    assert values[found] == (5 << 14) + (11 << 13) + (7 << 20)


I64 = Kind("i64", 1)


def added(b, one, two):
    """The words of a sum of 64 bits."""
    make = AsmInstructions(b)
    return b.words(make.apply("addi", I64, b.of(I64, one), b.of(I64, two)))


@pytest.mark.parametrize(("two", "names", "operand"), [
    ((64, 0), [], 64), ((0xFFFFFFF0, 0xFFFFFFFF), [], -16), ((0, 0), [], 0),
    ((65, 0), ["s_mov_b64"], None), ((0xFFFFFFFF, 0), ["v_mov_b32"] * 2, None),
    ((ONE, 0), ["s_mov_b64"], None), ((0xFFFFFFF0, 0), ["v_mov_b32"] * 2, None),
])  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_lanes_add_64_bits_by_one_instruction(two, names, operand, turned):
    """A number that is no word of the code is an operand; a float is no such one."""
    b, given = Builder("gfx942"), words(2)
    added(b, *((two, given) if turned else (given, two)))
    *first, line = [each for each in made(b) if isinstance(each, Instruction)]
    assert [each.name for each in first] == names
    assert line.name == "v_lshl_add_u64"
    if operand is not None:
        assert line.operands == (given[0].value.all, 0, operand)


def test_lanes_add_what_the_wave_has_as_it_is():
    b, wave = Builder("gfx942"), Virtual(2, SCALARS)
    for sides in ((words(2), wave.parts()), (wave.parts(), words(2))):
        added(b, *sides)
        assert made(b)[-1].operands[1:] == (0, wave.all)


@pytest.mark.parametrize("wanted", [False, True])
def test_of_a_sum_of_64_bits_the_lower_word_is_made_alone(wanted):
    """Where nobody wants the upper one."""
    b, (one, two) = Builder("gfx942"), (words(2), words(2))
    make, pair = AsmInstructions(b), added(b, one, two)
    total = b.of(I64, added(b, pair, (5, 0)))
    low = b.words(make.convert("trunci", I64, "i32", total))
    b.say("buffer_store_dword", (), low)
    if wanted:
        b.say("buffer_store_dword", (), (b.words(total)[1],))
    left = [line.name for line in without_unread(made(b))[: -1 - wanted]]
    pairs = ["v_lshl_add_u64"] * 2 if wanted else []
    assert left == [*pairs, "v_add_u32", "v_add_u32"]


@pytest.mark.parametrize(("item", "count", "masks", "choices"), [
    ("f16", 4, "aabb", 2), ("f16", 4, "aaaa", 2), ("f16", 4, "abab", 4),
    ("f16", 4, "a", 2), ("i8", 8, "aaaabbbb", 2), ("i8", 4, "aaab", 4),
    ("f16", 3, "aab", 2), ("f32", 4, "abab", 4), ("i64", 2, "ab", 4),
])  # fmt: skip
def test_elements_of_a_word_with_one_mask_are_chosen_at_once(
    item, count, masks, choices
):
    """By word, each lane takes what its elements take one by one."""
    b, kind = Builder("gfx942"), Kind(item, count)
    known = {name: Virtual(2, SCALARS).all for name in "ab"}
    given = [Datum(kind, words(words_of(bits_of_item(item), count))) for _ in range(2)]
    test = b.of(Kind("i1", len(masks)), [known[name] for name in masks])
    make = AsmInstructions(b)
    names = [b.name(each) for each in given]
    found = b.words(make.select(test, kind, *names, tests=len(masks)))
    picks = [line for line in made(b) if line.name == "v_cndmask_b32_e64"]
    assert len(picks) == choices
    if len(found) == choices:
        assert [line.results[0] for line in picks] == [*found]
        rows = zip(given[1].words, given[0].words, strict=True)
        assert [line.operands[:2] for line in picks] == [*rows]


@pytest.mark.parametrize("far", [0, 1, 4, 28, 31])
def test_what_differs_in_some_bits_is_moved_once(far):
    """A word with bits flipped, to the left, is the word to the left with others."""
    b, (given,) = Builder("gfx942"), words(1)
    numbers = [1, 7, 15, 1 << 31, 0xFFFFFFFF]
    found = [
        basic(b, "shli", basic(b, "xori", given, number), far) for number in numbers
    ]
    lines = without_unread([*made(b), say_all(found)])[:-1]
    names = [line.name for line in lines]
    assert names.count("v_lshlrev_b32") == (far > 0)
    computed = {given: 0x12345678}
    for line in lines:
        one, two = (computed.get(each, each) for each in line.operands)
        value = two << one if "lshl" in line.name else one ^ two
        computed[line.defines[0]] = value & 0xFFFFFFFF
    wanted = [(0x12345678 ^ number) << far & 0xFFFFFFFF for number in numbers]
    assert [computed[each] for each in found] == wanted


def say_all(found):
    return Instruction("buffer_store_dword", (), tuple(found))


def test_words_that_differ_are_compared_bit_by_bit_once():
    b, (one, two) = Builder("gfx942"), words(2)
    found = {basic(b, "xori", one, two) for _ in range(3)}
    assert (len(found), len(made(b))) == (1, 1)


@pytest.mark.parametrize("word", ["shli", "shrui"])
@pytest.mark.parametrize("files", [VECTORS, SCALARS])
@pytest.mark.parametrize(("first", "second"), [(2, 3), (16, 15), (16, 16), (31, 31)])
def test_a_shift_goes_on_where_one_of_its_kind_was(word, files, first, second):
    b, given = Builder("gfx942"), Virtual(1, files).all
    found = basic(b, word, basic(b, word, given, first), second)
    line = made(b)[-1]
    whole = first + second < 32
    distance = line.operands[files == SCALARS]
    assert line.defines == (found,)
    assert (given in line.operands, distance) == (
        whole,
        first + second if whole else second,
    )


@pytest.mark.parametrize(("word", "name"), [("andi", "andn2"), ("ori", "orn2")])
@pytest.mark.parametrize("first", [False, True])
def test_a_mask_is_inverted_by_who_joins_it(word, name, first):
    b, kind = Builder("gfx942"), Kind("i1", 1)
    make = AsmInstructions(b)
    one, two = (Virtual(2, SCALARS).all for _ in range(2))
    names = [b.of(kind, (each,)) for each in (one, two)]
    less = make.apply("xori", kind, names[1], b.of(kind, (1,)))
    make.apply(word, kind, *((less, names[0]) if first else (names[0], less)))
    last = made(b)[-1]
    assert (last.name, last.operands) == (f"s_{name}_b64", (one, two))


def test_masks_are_joined_once():
    b = Builder("gfx942")
    make = AsmInstructions(b)
    one, two = (b.of(Kind("i1"), (Virtual(2, SCALARS).all,)) for _ in range(2))
    found = [b.words(make.apply("andi", Kind("i1"), one, two)) for _ in range(3)]
    found.append(b.words(make.apply("ori", Kind("i1"), one, two)))
    assert [*map(found.index, found)] == [0, 0, 0, 3]
    assert names_of_all(b) == ["s_and_b64", "s_or_b64"]


def names_of_all(builder):
    return [line.name for line in made(builder)]


@pytest.mark.parametrize("files", [SCALARS, VECTORS])
@pytest.mark.parametrize("distance", [0, 1, 6, 31])
@pytest.mark.parametrize("turned", [False, True])
def test_a_word_times_a_power_of_two_is_two_shifts(files, distance, turned):
    """As a number of 64 bits; one that has both words is shifted as a whole."""
    b, (low, high) = Builder("gfx942"), Virtual(2, files).parts()
    sides = [(low, 0), (1 << distance, 0)]
    found = wide(b, "muli", *(reversed(sides) if turned else sides))
    shifts = [(line.name, {*line.operands} - {low}) for line in made(b)]
    left, right = {SCALARS: ("s_lshl_b32", "s_lshr_b32"),
                   VECTORS: ("v_lshlrev_b32", "v_lshrrev_b32")}[files]  # fmt: skip
    if distance:
        assert shifts == [(left, {distance}), (right, {32 - distance})]
        assert found == tuple(line.results[0] for line in made(b))
    else:
        assert (shifts, found) == ([], (low, 0))
    wide(b, "muli", (low, high), (1 << distance, 0))
    whole = "s_lshl_b64" if files == SCALARS else "v_lshlrev_b64"
    assert [line.name for line in made(b)[2:]] == [whole] * bool(distance)


@pytest.mark.parametrize(("asked", "picks"), [("own", 0), ("wider", 0), ("other", 1)])
def test_what_is_zero_elsewhere_is_not_chosen_again(asked, picks):
    """A load under a mask is 0 where that, or one that it is narrower than, is not."""
    b, kind, truth = Builder("gfx942"), Kind("f32", 1), Kind("i1")
    make, (word,) = AsmInstructions(b), words(1)
    wider, mask, other = (b.of(truth, (Virtual(2, SCALARS).all,)) for _ in range(3))
    own = make.apply("andi", truth, make.apply("andi", truth, wider, mask), mask)
    b.mark_elsewhere(word, b.words(own)[0])
    test = {"own": own, "wider": wider, "other": other}[asked]
    zero = make.constant(0.0, DTYPES["f32"])
    found = b.words(make.select(test, kind, b.of(kind, (word,)), zero))
    assert names_of_all(b).count("v_cndmask_b32_e64") == picks
    assert (found == (word,)) == (not picks)
    make.select(test, kind, b.of(kind, (word,)), make.constant(1.0, DTYPES["f32"]))
    assert names_of_all(b).count("v_cndmask_b32_e64") == picks + 1


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_numbers_of_the_wave_lanes_get_the_one_that_they_have(turned):
    """Of 64 bits: a comparison reads one of the wave at most."""
    b, limit = Builder("gfx942"), Virtual(2, SCALARS)
    for first in range(3):
        sides = [limit.parts(), Virtual(2, SCALARS).parts()]
        turn = turned and first > 0
        compared_wide(b, "slt", *(reversed(sides) if turn else sides))
        line = made(b)[-1]
        assert sum(map(is_scalar, line.operands)) == 1
    lines = [line for line in made(b) if isinstance(line, Instruction)]
    assert [line.name for line in lines].count("v_mov_b32") == 2


@pytest.mark.parametrize("number", [(64, 0), (0xFFFFFFFF, 0xFFFFFFFF)])
def test_a_small_number_of_64_bits_is_compared_with_as_it_is(number):
    b, given = Builder("gfx942"), words(2)
    compared_wide(b, "slt", given, number)
    (line,) = made(b)
    assert line.operands == (given[0].value.all, signed(number[0]))
