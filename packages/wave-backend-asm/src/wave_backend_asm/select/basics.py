"""Integers of 32 bits: of the wave where all operands are, else of lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import (
    SCALARS,
    Operand,
    Virtual,
    is_scalar,
    signed,
)

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder

_SALU = {
    "addi": "s_add_i32", "subi": "s_sub_i32", "muli": "s_mul_i32",
    "andi": "s_and_b32", "ori": "s_or_b32", "xori": "s_xor_b32",
    "shli": "s_lshl_b32", "shrui": "s_lshr_b32", "shrsi": "s_ashr_i32",
    "maxsi": "s_max_i32", "minsi": "s_min_i32",
    "maxui": "s_max_u32", "minui": "s_min_u32",
}  # fmt: skip

_VALU = {
    "addi": "v_add_u32", "subi": "v_sub_u32", "muli": "v_mul_lo_u32",
    "andi": "v_and_b32", "ori": "v_or_b32", "xori": "v_xor_b32",
    "shli": "v_lshlrev_b32", "shrui": "v_lshrrev_b32", "shrsi": "v_ashrrev_i32",
    "maxsi": "v_max_i32", "minsi": "v_min_i32",
    "maxui": "v_max_u32", "minui": "v_min_u32",
}  # fmt: skip

_REVERSED = ("shli", "shrui", "shrsi")
"""Their instruction of lanes takes the distance first."""

_COMMUTES = ("addi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui")

_FOLDS: Mapping[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << (b & 31),
    "shrui": lambda a, b: (a & 0xFFFFFFFF) >> (b & 31),
    "shrsi": lambda a, b: signed(a) >> (b & 31),
    "maxsi": lambda a, b: max(signed(a), signed(b)),
    "minsi": lambda a, b: min(signed(a), signed(b)),
}

_NEUTRAL = {("addi", 0), ("subi", 0), ("ori", 0), ("xori", 0), ("muli", 1),
            ("shli", 0), ("shrui", 0), ("shrsi", 0), ("andi", 0xFFFFFFFF)}  # fmt: skip


def basic(b: Builder, word: str, one: Operand, two: Operand) -> Operand:
    """One operation of `INTEGER_WORDS` that is no division, on words of 32 bits."""
    if isinstance(one, int) and word in _COMMUTES:
        one, two = two, one
    if isinstance(one, int) and isinstance(two, int) and word in _FOLDS:
        return _FOLDS[word](one, two) & 0xFFFFFFFF
    if isinstance(two, int):
        if (word, two & 0xFFFFFFFF) in _NEUTRAL:
            return one
        if word == "muli" and (power := power_of(two)) is not None:
            return basic(b, "shli", one, power)
    if is_scalar(one) and is_scalar(two):
        return b.salu(_SALU[word], one, two)
    return lanes(b, word, one, two)


def lanes(b: Builder, word: str, one: Operand, two: Operand) -> Operand:
    """The same in each lane, whatever the operands are."""
    if word in _REVERSED or (word in _COMMUTES and not is_scalar(one)):
        one, two = two, one
    elif word == "subi" and isinstance(two, int):
        return b.valu("v_add_u32", -two & 0xFFFFFFFF, one)
    elif word == "subi" and is_scalar(two):
        return b.valu("v_subrev_u32", two, one)
    return b.valu(_VALU[word], one, two)


def lane_test(b: Builder, name: str, *operands: Operand) -> Operand:
    """A comparison of lanes: a bit for each."""
    mask = Virtual(2, SCALARS).all
    b.say(name, (mask,), b.readable(name, operands))
    return mask


def power_of(number: int) -> int | None:
    """The power of two that a number is."""
    number &= 0xFFFFFFFF
    return None if not number or number & (number - 1) else number.bit_length() - 1
