"""Numbers of two words: their sums, of the wave where both are its, else of lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.code import Part
from wave_backend_asm.machine.operands import (
    SCALARS,
    Operand,
    Virtual,
    is_scalar,
    signed,
)
from wave_backend_asm.select.basics import basic

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder

Pair = tuple[Operand, Operand]
"""A number of 64 bits: its lower word, and its upper one."""


_SUM_OF_THE_WAVE = {
    "addi": ("s_add_u32", "s_addc_u32"),
    "subi": ("s_sub_u32", "s_subb_u32"),
}


_SUM_OF_LANES = {
    "addi": ("v_add_co_u32", "v_addc_co_u32"),
    "subi": ("v_sub_co_u32", "v_subb_co_u32"),
}


def of_the_wave(*words: Operand) -> bool:
    """Whether all lanes have the same words, and the wave has one of them."""
    return all(map(is_scalar, words)) and not all(isinstance(w, int) for w in words)


def lanes_of(b: Builder, pair: Pair) -> list[Operand]:
    """Both words, each in a register of lanes."""
    return [*map(b.in_vector, pair)]


def carried(b: Builder, word: str, one: Pair, two: Pair) -> Pair:
    """A sum or a difference; where no instruction has both words, with a carry."""
    if of_the_wave(*one, *two):
        names = _SUM_OF_THE_WAVE[word]
        low, high = (b.salu(*row) for row in zip(names, one, two, strict=True))
        return low, high
    if word == "addi" and b.chip.pairs:
        return _added(b, one, two)
    names = _SUM_OF_LANES[word]
    first, last = Virtual(2, SCALARS).all, Virtual(2, SCALARS).all
    low, high = Virtual().all, Virtual().all
    x, y = (lanes_of(b, pair) for pair in (one, two))
    b.say(f"{names[0]}_e64", (low, first), (x[0], y[0]))
    b.say(f"{names[1]}_e64", (high, last), (x[1], y[1], first))
    return low, high


def _added(b: Builder, one: Pair, two: Pair) -> Pair:
    """A sum of lanes, whose lower word somebody may want alone.

    Source: CDNA3 ISA, V_LSHL_ADD_U64.
    """
    if all(map(is_scalar, one)):
        one, two = two, one
    x, y = b.together(lanes_of(b, one)), second_side(b, two)
    low, high = (pair := Virtual(2)).parts()
    b.say("v_lshl_add_u64", (pair.all,), (x, 0, y))
    return b.mark_low(low, one[0], two[0]), high


def low_alone(b: Builder, word: Operand) -> Operand:
    """The lower word of a sum, where the upper one is not wanted."""
    sides = b.low(word)
    if sides is None:
        return word
    key = ("low alone", word)
    return b.kept(key, lambda: basic(b, "addi", *(low_alone(b, s) for s in sides)))


def sides_of(b: Builder, one: Pair, two: Pair) -> tuple[Operand, Operand]:
    """Two operands of 64 bits of a comparison: one at most is the wave's.

    Of two that are, lanes get the one that they have already, if there is one.
    """
    if not all(map(is_scalar, two)) or all(b.in_lanes(word) for word in two):
        return second_side(b, one), b.together(lanes_of(b, two))
    return b.together(lanes_of(b, one)), second_side(b, two)


def second_side(b: Builder, pair: Pair) -> Operand:
    """An operand of 64 bits of a sum: a number, of the wave, or of lanes."""
    number = _number(pair)
    if number is not None:
        return number
    if all(isinstance(word, Part) and is_scalar(word) for word in pair):
        return b.together(pair, SCALARS)
    low, high = pair
    if isinstance(low, int) and high == 0 and signed(low) >= 0:
        return b.kept(("wide", low), lambda: b.salu("s_mov_b64", low, width=2))
    return b.together(lanes_of(b, pair))


def _number(pair: Pair) -> int | None:
    """A number of 64 bits that takes no word of its own in the code."""
    low, high = pair
    if not (isinstance(low, int) and isinstance(high, int)):
        return None
    small = -16 <= signed(low) <= 64 and signed(high) == signed(low) >> 31
    return signed(low) if small else None


def flipped(b: Builder, number: Pair, sign: Operand) -> Pair:
    """The number, negated where the sign is -1."""
    low, high = (basic(b, "xori", each, sign) for each in number)
    return carried(b, "subi", (low, high), (sign, sign))
