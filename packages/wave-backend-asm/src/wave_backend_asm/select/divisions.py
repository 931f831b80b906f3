"""Division of 32-bit integers, of which the machine has none.

By numbers: multiplication by a reciprocal that is exact for all dividends (Granlund and
Montgomery 1994). By registers: from the reciprocal of f32, made exact by two steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import Operand, is_scalar, signed
from wave_backend_asm.select.basics import basic, lane_test

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder

_NEARLY_TWO_TO_32 = 0x4F7FFFFE
"""The f32 below 2**32 by two steps, so that the reciprocal is never too large."""


def divide(b: Builder, above: Operand, below: Operand) -> Operand:
    """The quotient of numbers without a sign."""
    if isinstance(below, int):
        number = below & 0xFFFFFFFF
        if isinstance(above, int):
            return (above & 0xFFFFFFFF) // number
        if number & (number - 1) == 0:
            return basic(b, "shrui", above, number.bit_length() - 1)
        return _by_reciprocal(b, above, *reciprocal(number))
    quotient = _divided(b, above, below)
    both = is_scalar(above) and is_scalar(below)
    return b.uniform(quotient) if both else quotient


def reciprocal(number: int) -> tuple[int, int]:
    """A factor and a shift that divide every number below 2**32 exactly.

    The factor has 33 bits where none of 32 does.
    """
    for shift in range(33):
        factor = -(-(1 << (32 + shift)) // number)
        if factor * number - (1 << (32 + shift)) <= 1 << shift:
            return factor, shift
    raise AssertionError("the last one is close enough for every divisor")


def _by_reciprocal(b: Builder, above: Operand, factor: int, shift: int) -> Operand:
    low = factor & 0xFFFFFFFF
    if is_scalar(above):
        high: Operand = b.salu("s_mul_hi_u32", above, low)
    else:
        high = b.valu("v_mul_hi_u32", above, low)
    if factor == low:
        return basic(b, "shrui", high, shift)
    # The bit above stands for the dividend itself; half of both does not overflow.
    rest = basic(b, "shrui", basic(b, "subi", above, high), 1)
    return basic(b, "shrui", basic(b, "addi", rest, high), shift - 1)


def _divided(b: Builder, above: Operand, below: Operand) -> Operand:
    above, below = b.in_vector(above), b.in_vector(below)
    inverse = b.valu("v_rcp_iflag_f32", b.valu("v_cvt_f32_u32", below))
    scaled = b.valu("v_mul_f32", _NEARLY_TWO_TO_32, inverse)
    guess = b.valu("v_cvt_u32_f32", scaled)
    error = b.valu("v_mul_lo_u32", b.valu("v_sub_u32", 0, below), guess)
    better = b.valu("v_add_u32", guess, b.valu("v_mul_hi_u32", guess, error))
    quotient: Operand = b.valu("v_mul_hi_u32", above, better)
    rest: Operand = b.valu("v_sub_u32", above, b.valu("v_mul_lo_u32", quotient, below))
    for _ in range(2):
        quotient, rest = _step(b, quotient, rest, below)
    return quotient


def _step(
    b: Builder, quotient: Operand, rest: Operand, below: Operand
) -> tuple[Operand, Operand]:
    """One more, where the rest is not below the divisor."""
    test = lane_test(b, "v_cmp_ge_u32_e64", rest, below)
    more = b.valu("v_add_u32", 1, quotient)
    less = b.valu("v_sub_u32", rest, below)
    return (
        b.valu("v_cndmask_b32_e64", quotient, more, test),
        b.valu("v_cndmask_b32_e64", rest, less, test),
    )


def _remainder(b: Builder, above: Operand, below: Operand) -> Operand:
    if isinstance(below, int) and below > 0 and below & (below - 1) == 0:
        return basic(b, "andi", above, below - 1)
    back = basic(b, "muli", divide(b, above, below), below)
    return basic(b, "subi", above, back)


def _size(b: Builder, number: Operand) -> tuple[Operand, Operand]:
    """The magnitude of a number, and its sign as 0 or -1."""
    sign = basic(b, "shrsi", number, 31)
    flipped = basic(b, "xori", number, sign)
    return basic(b, "subi", flipped, sign), sign


def _with_sign(b: Builder, number: Operand, sign: Operand) -> Operand:
    return basic(b, "subi", basic(b, "xori", number, sign), sign)


def _signed_divide(b: Builder, above: Operand, below: Operand) -> Operand:
    """The quotient, rounded to 0."""
    one, first = _size(b, above)
    two, second = _size(b, below)
    return _with_sign(b, divide(b, one, two), basic(b, "xori", first, second))


def _signed_remainder(b: Builder, above: Operand, below: Operand) -> Operand:
    """The remainder, with the sign of the dividend."""
    one, sign = _size(b, above)
    two, _ = _size(b, below)
    return _with_sign(b, _remainder(b, one, two), sign)


def _floor_divide(b: Builder, above: Operand, below: Operand) -> Operand:
    """The quotient, rounded down: by a power of two, a shift."""
    if isinstance(below, int) and (size := signed(below)) > 0:
        if size & (size - 1) == 0:
            return basic(b, "shrsi", above, size.bit_length() - 1)
        # All bits flipped is -1 - x, and floor(x / n) is -1 - floor((-1 - x) / n).
        sign = basic(b, "shrsi", above, 31)
        whole = divide(b, basic(b, "xori", above, sign), size)
        return basic(b, "xori", whole, sign)
    whole = _signed_divide(b, above, below)
    rest = basic(b, "subi", above, basic(b, "muli", whole, below))
    differs = basic(b, "shrsi", basic(b, "xori", above, below), 31)
    some = basic(b, "minui", _size(b, rest)[0], 1)
    return basic(b, "subi", whole, basic(b, "andi", some, differs))


DIVISIONS: Mapping[str, Callable[[Builder, Operand, Operand], Operand]] = {
    "divui": divide,
    "remui": _remainder,
    "divsi": _signed_divide,
    "remsi": _signed_remainder,
    "floordivsi": _floor_divide,
}
"""By the word of `Instructions`."""
