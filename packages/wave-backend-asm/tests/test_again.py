"""Words that are computed again are those that were computed first."""

from __future__ import annotations

import pytest

from wave_backend_asm.machine.again import without_again
from wave_backend_asm.machine.instruction import Instruction, Label
from wave_backend_asm.machine.operands import Virtual

ONE, TWO, FIRST, AGAIN = (Virtual() for _ in range(4))


def say(name, result, *operands, **more):
    return Instruction(name, (result.all,), operands, **more)


def both(*between, name="v_add_u32", operands=(ONE.all, TWO.all)):
    """Twice the same, something between, and somebody who reads the second."""
    return [
        say("v_mov_b32", ONE, 1),
        say(name, FIRST, ONE.all, TWO.all),
        *between,
        say(name, AGAIN, *operands),
        say("v_lshlrev_b32", Virtual(), 2, AGAIN.all),
    ]


def test_who_reads_a_word_reads_the_first():
    lines = both()
    *kept, last = without_again(lines)
    assert kept == lines[:2]
    assert last.operands == (2, FIRST.all)


def test_so_are_words_of_words_computed_again():
    lines = both()
    third, fourth = Virtual(), Virtual()
    more = [
        say("v_lshlrev_b32", third, 3, FIRST.all),
        say("v_lshlrev_b32", fourth, 3, AGAIN.all),
        say("v_xor_b32", Virtual(), third.all, fourth.all),
    ]
    *_, shifted, last = without_again([*lines, *more])
    assert shifted is more[0]
    assert last.operands == (third.all, third.all)


def test_other_operands_give_other_words():
    for operands in [(TWO.all, ONE.all), (ONE.all, 7)]:
        lines = both(operands=operands, name="v_sub_u32")
        assert without_again(lines) == lines


LANES = Instruction("s_mov_b64", ("exec",), (-1,))
JUMP = Instruction("s_cbranch_scc1", target="end")


@pytest.mark.parametrize(
    "between",
    [Label("end"), JUMP, LANES, say("v_mov_b32", ONE, 5), say("v_mov_b32", FIRST, 5)],
)
def test_it_is_computed_again_where_something_may_be_other(between):
    lines = both(between)
    assert without_again(lines) == lines


def test_instructions_that_do_more_are_all_there():
    lines = both(name="v_mul_f32")
    assert without_again(lines) == lines
