"""Values that wait in registers of another file are what they were."""

from __future__ import annotations

import numpy as np
import pytest

from wave_backend_asm.allocate.budget import Budget
from wave_backend_asm.allocate.files import Place
from wave_backend_asm.allocate.pressure import NoRoomError
from wave_backend_asm.assemble.document import Argument, Kernel
from wave_backend_asm.code import Part
from wave_backend_asm.encode.kernel import encoded
from wave_backend_asm.machine.instruction import Instruction, Label
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.machine.program import assembled_program
from wave_emulator_amdgcn import emulate, load

CHIPS = ("gfx90a", "gfx942", "gfx950")
ARGUMENTS, ITEM = Virtual(2, SCALARS), Virtual()
FIXED = {ARGUMENTS: Place("s", 0), ITEM: Place("v", 0)}
MASKS, WORDS = 64, 280


def say(name, *results, of=(), **more):
    return Instruction(name, results, of, **more)


def of_masks(word, total):
    """A product with 3 for each bound that a word is above, forth and back.

    Where it is not above one, 1 is added.
    """
    masks = [Virtual(2, SCALARS).all for _ in range(MASKS)]
    made = [
        say("v_cmp_lt_i32_e64", mask, of=(number, word))
        for number, mask in enumerate(masks)
    ]
    read = []
    for mask in (*masks, *reversed(masks)):
        product, sum_, chosen = (Virtual().all for _ in range(3))
        read += [
            say("v_mul_lo_u32", product, of=(total, 3)),
            say("v_add_u32", sum_, of=(1, total)),
            say("v_cndmask_b32_e64", chosen, of=(sum_, product, mask)),
        ]
        total = chosen
    return [*made, *read], total


def of_words(word, total):
    """Words that are made of one, and added up twice, forth and back."""
    made = [Virtual().all for _ in range(WORDS)]
    first = [
        say("v_add_u32", each, of=(number, word)) for number, each in enumerate(made)
    ]
    read = []
    for each in (*made, *reversed(made)):
        sum_ = Virtual().all
        read.append(say("v_xor_b32", sum_, of=(each, total)))
        total = Virtual().all
        read.append(say("v_mul_lo_u32", total, of=(sum_, 3)))
    return [*first, *read], total


def program(body, *, few):
    """Stores what a body makes of the word of each lane, of the first 40 for a few."""
    pointers, place, word = Virtual(4, SCALARS), Virtual().all, Virtual().all
    first, second = (Part(pointers, at, 2) for at in (0, 2))
    saved, mask, start = Virtual(2, SCALARS).all, Virtual(2, SCALARS).all, Virtual()
    lines, total = body(word, start.all)
    jump = [
        say("v_cmp_gt_u32_e64", mask, of=(40, ITEM.all)),
        say("s_and_saveexec_b64", saved, of=(mask,)),
        say("s_cbranch_execz", target="after"),
    ]
    back = [Label("after"), say("s_mov_b64", "exec", of=(saved,))]
    stored = say("global_store_dword", of=(place, total, second))
    return [
        say("s_load_dwordx4", pointers.all, of=(ARGUMENTS.all, 0)),
        say("v_lshlrev_b32", place, of=(2, ITEM.all)),
        say("global_load_dword", word, of=(place, first)),
        say("v_mov_b32", start.all, of=(7,)),
        *([*jump, *lines, stored, *back] if few else [*lines, stored]),
        say("s_endpgm"),
    ]


def expected(body, given):
    total = np.full(64, 7, np.uint32)
    if body is of_masks:
        for number in (*range(MASKS), *reversed(range(MASKS))):
            product, sum_ = total * np.uint32(3), total + np.uint32(1)
            total = np.where(given > number, product, sum_)
        return total
    words = [given.view(np.uint32) + np.uint32(n) for n in range(WORDS)]
    for each in (*words, *reversed(words)):
        total = (each ^ total) * np.uint32(3)
    return total


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("body", [of_masks, of_words])
def test_what_waits_elsewhere_comes_back(chip, few, body):
    given = np.random.default_rng().integers(-8, 72, 64, dtype=np.int32)
    lines, budget = program(body, few=few), Budget.of_waves(1)
    with pytest.raises(NoRoomError):
        assembled_program(lines, chip, budget, FIXED)
    made = assembled_program(lines, chip, budget, FIXED, parks=True)
    kernel = Kernel(
        "k", chip, (Argument(pointer=True),) * 2, made.lines, made.allocation.used, 64
    )
    found = np.full(64, 0xDEADBEEF, np.uint32)
    code = load(encoded(kernel))
    assert emulate(code, (given, found), grid=(1, 1, 1)).reports == ()
    lanes = 40 if few else 64
    assert np.array_equal(found[:lanes], expected(body, given)[:lanes])
    assert (found[lanes:] == 0xDEADBEEF).all()


def test_what_others_than_the_makers_lanes_read_stays():
    """A mask that is made where some lanes are off, and read where all are on."""
    lines = program(of_masks, few=True)
    (end,) = [n for n, each in enumerate(lines) if isinstance(each, Label)]
    begin = next(n for n, each in enumerate(lines) if each.name == "v_cndmask_b32_e64")
    outside = [*lines[:begin], *lines[end : end + 2], *lines[begin:end], lines[-1]]
    with pytest.raises(NoRoomError):
        assembled_program(outside, CHIPS[1], Budget.of_waves(1), FIXED, parks=True)
