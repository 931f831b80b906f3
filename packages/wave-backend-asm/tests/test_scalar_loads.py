"""Words that the wave loads side by side come by one load, and are the same ones."""

from __future__ import annotations

import re

import numpy as np
import pytest

from wave_backend_asm.allocate.budget import Budget
from wave_backend_asm.allocate.files import Place
from wave_backend_asm.assemble.document import Argument, Kernel, document
from wave_backend_asm.bindings import assemble
from wave_backend_asm.code import Part
from wave_backend_asm.machine.instruction import Instruction, Label
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.machine.program import assembled_program
from wave_backend_asm.machine.scalar_loads import (
    NUMBERS,
    neighbours_together,
    scalar_load,
    widths,
)
from wave_emulator_amdgcn import emulate, load

ARGUMENTS = Virtual(2, SCALARS)
FIXED = {ARGUMENTS: Place("s", 0)}
MOST = 48
COUNT = 40
"""Words of the buffer; what is behind them is 0."""


def program(loads, base, between=()):
    """Loads of (first byte, words) from a base on, all stored one after the other."""
    pointers, quad, start = (Virtual(width, SCALARS) for width in (4, 4, 1))
    words = [Virtual(width, SCALARS) for _, width in loads]
    from_ = start.all if base is not None else None
    said = [
        Instruction(*scalar_load(each.all, quad.all, from_, number))
        for each, (number, _) in zip(words, loads, strict=True)
    ]
    middle = len(said) // 2
    to, lane = Part(pointers, 2, 2), Virtual()
    stores = []
    for at, word in enumerate(part for each in words for part in each.parts()):
        moved = Virtual()
        stores += [
            Instruction("v_mov_b32", (moved.all,), (word,)),
            Instruction(
                "global_store_dword", (), (lane.all, moved.all, to), f"offset:{4 * at}"
            ),
        ]
    return [
        Instruction("s_load_dwordx4", (pointers.all,), (ARGUMENTS.all, 0)),
        Instruction("s_mov_b64", (Part(quad, 0, 2),), (Part(pointers, 0, 2),)),
        Instruction("s_mov_b32", (Part(quad, 2, 1),), (4 * COUNT,)),
        Instruction("s_mov_b32", (Part(quad, 3, 1),), (0x27000,)),
        Instruction("s_mov_b32", (start.all,), (base or 0,)),
        Instruction("v_mov_b32", (lane.all,), (0,)),
        *said[:middle],
        *between,
        *said[middle:],
        *stores,
        Instruction("s_endpgm"),
    ]


def wanted(given, loads, base):
    whole = np.concatenate([given, np.zeros(4 * COUNT, np.uint32)])
    starts = [((base or 0) + number) // 4 for number, _ in loads]
    rows = zip(starts, loads, strict=True)
    return np.concatenate([whole[at : at + width] for at, (_, width) in rows])


def run(lines, chip, given, count):
    made = assembled_program(lines, chip, Budget.of_waves(1), FIXED)
    arguments = (Argument(pointer=True),) * 2
    kernel = Kernel("k", chip, arguments, made.lines, made.allocation.used, 64)
    found = np.full(count, 0xDEADBEEF, np.uint32)
    data = assemble(document(kernel), chip)
    assert emulate(load(data), (given, found), grid=(1, 1, 1)).reports == ()
    return found


def names(lines):
    found = [line.name for line in lines if isinstance(line, Instruction)]
    return [name for name in found if name.startswith("s_buffer_load")]


def random_loads(rng):
    """Some of them side by side, in any order, some twice, all at once in a wave."""
    found, number = [], 4 * int(rng.integers(0, COUNT))
    for _ in range(int(rng.integers(2, 12))):
        width = int(rng.choice([1, 1, 1, 2, 4, 8, 16]))
        if sum(width for _, width in found) + width > MOST:
            break
        found.append((number, width))
        number += 4 * int(rng.choice([width, width, width, width + 1, 0]))
    return [found[at] for at in rng.permutation(len(found))]


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("base", [None, 0, 20])
def test_words_are_those_of_their_numbers(base, chip):
    rng = np.random.default_rng()
    for _ in range(5):
        loads = random_loads(rng)
        given = rng.integers(0, 1 << 32, COUNT, dtype=np.uint32)
        count = sum(width for _, width in loads)
        found = run(program(loads, base), chip, given, count)
        assert np.array_equal(found, wanted(given, loads, base)), loads


def test_neighbours_are_one_load_in_any_order():
    for loads, wide in {
        ((4, 1), (0, 1)): ["x2"],
        ((8, 1), (0, 1), (4, 1)): ["x2", ""],
        ((0, 4), (16, 2), (24, 2)): ["x8"],
        (tuple((4 * at, 1) for at in range(20))): ["x16", "x4"],
        ((0, 1), (8, 1)): ["", ""],
        ((0, 1), (4, 2)): ["", "x2"],  # a pair would begin at an odd register
    }.items():
        found = names(neighbours_together(program(loads, 0)))
        assert sorted(found) == sorted(f"s_buffer_load_dword{each}" for each in wide)


def test_a_wide_load_can_be_executed_again():
    """It does not overwrite the descriptor, whose last reader it is."""
    text = assembled_program(
        program([(0, 4)], 0), "gfx942", Budget.of_waves(1), FIXED
    ).lines
    (line,) = (each for each in text if each.startswith("s_buffer_load"))
    (one, two), (first, last) = re.findall(r"s\[(\d+):(\d+)\]", line)
    assert int(two) < int(first) or int(last) < int(one)


def test_nothing_is_loaded_in_front_of_a_jump():
    lines = program([(0, 1), (4, 1)], 0, between=[Label("there")])
    assert neighbours_together(lines) == lines


def test_a_base_that_changes_is_another_one():
    lines = program([(0, 1), (4, 1)], 0)
    start = next(line for line in lines if line.operands[:1] == (0,)).defines[0]
    at = max(n for n, line in enumerate(lines) if line.name.startswith("s_buffer"))
    lines.insert(at, Instruction("s_mov_b32", (start,), (16,)))
    assert neighbours_together(lines) == lines


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16, 17, 63])
def test_widths_are_those_of_instructions(count):
    rows = [*widths(count)]
    assert [start for start, _ in rows] == [
        sum(width for _, width in rows[:at]) for at in range(len(rows))
    ]
    assert sum(width for _, width in rows) == count
    assert {width for _, width in rows} <= {1, 2, 4, 8, 16}


def test_numbers_in_the_instruction_are_as_large_as_said():
    for number in (0, 64, NUMBERS - 4):
        given = np.arange(COUNT, dtype=np.uint32)
        found = run(program([(number, 1)], None), "gfx942", given, 1)
        assert found[0] == (number // 4 if number < 4 * COUNT else 0)
