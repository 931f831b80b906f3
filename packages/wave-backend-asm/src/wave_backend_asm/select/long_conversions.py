"""Floats from and to integers of 64 bits, of which the machine converts one half."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import Operand, Virtual
from wave_backend_asm.select.basics import basic
from wave_backend_asm.select.doubles import fused, said
from wave_backend_asm.select.pairs import Pair, flipped, lanes_of

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder

_DOWN, _UP = (0, 0x3DF00000), (0, 0xC1F00000)
"""2 to the power of -32 as f64, and minus 2 to the power of 32."""


def double_of(b: Builder, number: Pair, *, signed: bool) -> Pair:
    """An f64: both halves are exact, and their sum is rounded once."""
    kind = "i32" if signed else "u32"
    high = _scaled(b, _converted(b, f"v_cvt_f64_{kind}", number[1]), 32)
    return said(b, "v_add_f64", high, _converted(b, "v_cvt_f64_u32", number[0]))


def single_of(b: Builder, number: Pair, *, signed: bool) -> Operand:
    """An f32, rounded once: by f64, numbers between two of f32 would be rounded twice.

    The upper word, shifted so far that its first bit is set, has all bits that count;
    of the lower one only matters whether it is 0.
    """
    sign: Operand = 0
    if signed:
        sign = basic(b, "shrsi", number[1], 31)
        number = flipped(b, number, sign)
    zeros = b.valu("v_min_u32", 32, b.valu("v_ffbh_u32", b.in_vector(number[1])))
    shifted = Virtual(2)
    b.say("v_lshlrev_b64", (shifted.all,), (zeros, b.together(lanes_of(b, number))))
    low, high = shifted.parts()
    rest = b.valu("v_min_u32", 1, low)
    found = b.valu("v_cvt_f32_u32", b.valu("v_or_b32", high, rest))
    found = b.valu("v_ldexp_f32", found, b.valu("v_sub_u32", 32, zeros))
    return b.valu("v_bfi_b32", 0x7FFFFFFF, found, sign) if signed else found


def integer_of(b: Builder, number: Pair, *, signed: bool) -> Pair:
    """The integer next to a number towards 0, which the upper word begins."""
    whole = said(b, "v_trunc_f64", number)
    high = said(b, "v_floor_f64", said(b, "v_mul_f64", whole, _DOWN))
    low = fused(b, high, _UP, whole)
    kind = "i32" if signed else "u32"
    words = f"v_cvt_{kind}_f64", "v_cvt_u32_f64"
    upper, lower = (
        b.valu(name, b.together(lanes_of(b, each)))
        for name, each in zip(words, (high, low), strict=True)
    )
    return lower, upper


def _converted(b: Builder, name: str, word: Operand) -> Pair:
    result = Virtual(2)
    b.valu(name, word, result=result.all)
    low, high = result.parts()
    return low, high


def _scaled(b: Builder, number: Pair, power: int) -> Pair:
    result = Virtual(2)
    b.say("v_ldexp_f64", (result.all,), (b.together(lanes_of(b, number)), power))
    low, high = result.parts()
    return low, high
