"""What a loop carries from load to load costs no wait at its end."""

from __future__ import annotations

import pytest

from wave_backend_asm.codegen.rules.control import _carried, _carry
from wave_backend_asm.machine.instruction import Copy, Instruction
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.select.builder import Builder
from wave_core.backends.emission import Kind, Value

F32 = Kind("f32", 1)


def carried_lines(name, *, early=True):
    """The lines of a turn: what came last becomes what came before it."""
    b = Builder("gfx942")
    b.saves_early = early
    inits = [Value(b.of(F32, (number,)), *F32) for number in range(2)]
    older, newer = carried = _carried(b, inits)
    made = Virtual()
    with b.region() as block:
        operands = Virtual().all, Virtual(4, SCALARS).all, 0
        b.say(name, (made.all,), operands, "offen")
        following = [b.of(F32, newer.words), b.of(F32, made.parts())]
        _carry(b, carried, following)
    return block.lines, older.words[0], newer.words[0], made.all


def test_a_load_goes_where_the_one_before_it_was():
    (moved, _, *copies), older, newer, made = carried_lines("buffer_load_dword")
    (saved,) = moved.defines
    assert (moved.name, moved.operands) == ("v_mov_b32", (newer,))
    assert [(each.result, each.operand) for each in copies] == [
        (older, saved), (newer, made)
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "early"), [
    ("v_add_f32", True), ("ds_read_b32", True), ("buffer_load_dword", False),
])  # fmt: skip
def test_what_comes_at_once_is_saved_at_the_end(name, early):
    """And what a load takes the place of, where registers are few."""
    (first, *copies), older, newer, made = carried_lines(name, early=early)
    assert isinstance(first, Instruction)
    assert first.name == name
    assert all(isinstance(each, Copy) for each in copies)
    saved = copies[0].result
    assert [(each.result, each.operand) for each in copies] == [
        (saved, newer), (older, saved), (newer, made)
    ]  # fmt: skip
