"""Numbers of two words: their sums, of the wave where both are its, else of lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import SCALARS, Operand, Virtual, is_scalar
from wave_backend_asm.select.basics import basic

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder

Pair = tuple[Operand, Operand]
"""A number of 64 bits: its lower word, and its upper one."""


_SUM_OF_THE_WAVE = {
    "addi": ("s_add_u32", "s_addc_u32"),
    "subi": ("s_sub_u32", "s_subb_u32"),
}


def of_the_wave(*words: Operand) -> bool:
    """Whether all lanes have the same words, and the wave has one of them."""
    return all(map(is_scalar, words)) and not all(isinstance(w, int) for w in words)


def lanes_of(b: Builder, pair: Pair) -> list[Operand]:
    """Both words, each in a register of lanes."""
    return [*map(b.in_vector, pair)]


def carried(b: Builder, word: str, one: Pair, two: Pair) -> Pair:
    """A sum or a difference: the lower words, then the upper ones with the carry."""
    if of_the_wave(*one, *two):
        names = _SUM_OF_THE_WAVE[word]
        low, high = (b.salu(*row) for row in zip(names, one, two, strict=True))
        return low, high
    names = ("v_add_co_u32", "v_addc_co_u32")
    if word == "subi":
        names = ("v_sub_co_u32", "v_subb_co_u32")
    first, last = Virtual(2, SCALARS).all, Virtual(2, SCALARS).all
    low, high = Virtual().all, Virtual().all
    x, y = (lanes_of(b, pair) for pair in (one, two))
    b.say(f"{names[0]}_e64", (low, first), (x[0], y[0]))
    b.say(f"{names[1]}_e64", (high, last), (x[1], y[1], first))
    return low, high


def flipped(b: Builder, number: Pair, sign: Operand) -> Pair:
    """The number, negated where the sign is -1."""
    low, high = (basic(b, "xori", each, sign) for each in number)
    return carried(b, "subi", (low, high), (sign, sign))
