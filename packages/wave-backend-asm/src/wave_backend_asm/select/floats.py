"""Floats: one instruction where there is one, else what makes its result exact.

f32 keeps denormals. Division, and roots, are rounded correctly unless fast math allows
otherwise; exponentials and logarithms are within a few steps of the last bit.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import SCALARS, Operand, Virtual
from wave_backend_asm.select.basics import lane_test

if TYPE_CHECKING:
    from wave_backend_asm.code import Part
    from wave_backend_asm.select.builder import Builder

Float = Callable[["Builder", Operand, Operand], Operand]
"""Computes with one or two words; the second is 0 where there is one."""


def bits(value: float) -> int:
    """An f32 as its bits."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


_SIGN, _SIZE = 0x80000000, 0x7FFFFFFF


def _known(
    compute: Callable[[float, float], float], one: Operand, two: Operand
) -> int | None:
    """What is computed of two numbers, if both are known and the result is a number.

    The result of f64 is the exact one or has more than twice the bits of an f32, so
    that it is rounded once.
    """
    if not (isinstance(one, int) and isinstance(two, int)):
        return None
    x, y = (_value(each) for each in (one, two))
    found = compute(x, y)
    if math.isnan(found) or abs(found) > _LARGEST:
        return None
    return bits(found)


def _value(number: int) -> float:
    """The f32 of its bits."""
    return float(struct.unpack("<f", struct.pack("<I", number & 0xFFFFFFFF))[0])


_LARGEST = _value(0x7F7FFFFF)


def add(b: Builder, one: Operand, two: Operand) -> Operand:
    """The sum."""
    known = _known(operator.add, one, two)
    return b.valu("v_add_f32", *_lanes_last(one, two)) if known is None else known


def _lanes_last(one: Operand, two: Operand) -> tuple[Operand, Operand]:
    """Operands of a sum or product, with that in front that may be a number."""
    return (two, one) if isinstance(two, int) else (one, two)


def _subtract(b: Builder, one: Operand, two: Operand) -> Operand:
    return b.valu("v_sub_f32", one, two)


def multiply(b: Builder, one: Operand, two: Operand) -> Operand:
    """The product."""
    known = _known(operator.mul, one, two)
    return b.valu("v_mul_f32", *_lanes_last(one, two)) if known is None else known


def fused(b: Builder, one: Operand, two: Operand, three: Operand) -> Part:
    """The product and the sum, rounded once."""
    return b.valu("v_fma_f32", one, two, three)


def negated(b: Builder, one: Operand, _: Operand = 0) -> Operand:
    """The number with the other sign."""
    return b.valu("v_xor_b32", _SIGN, one)


def _magnitude(b: Builder, one: Operand, _: Operand) -> Operand:
    return b.valu("v_and_b32", _SIZE, one)


def _with_sign_of(b: Builder, one: Operand, two: Operand) -> Operand:
    return b.valu("v_bfi_b32", _SIZE, one, two)


def _extreme(name: str) -> Float:
    """NaN where one is NaN."""

    def made(b: Builder, one: Operand, two: Operand) -> Operand:
        found = b.valu(name, *_lanes_last(one, two))
        test = lane_test(b, "v_cmp_u_f32_e64", one, two)
        return b.valu("v_cndmask_b32_e64", found, b.in_vector(_NAN), test)

    return made


_NAN = bits(float("nan"))


def _plain(name: str) -> Float:
    return lambda b, one, _: b.valu(name, one)


def _quick_extreme(name: str) -> Float:
    """Of a number twice, that number; one that is in already makes nothing new."""

    def made(b: Builder, one: Operand, two: Operand) -> Operand:
        number, other = _lanes_last(one, two)
        if number == other or number == b.bound(name, other):
            return other
        return b.mark_bound(b.valu(name, number, other), name, number)

    return made


def _quick_add(b: Builder, one: Operand, two: Operand) -> Operand:
    """The sum; the sign of zeros does not matter."""
    if 0 in (one, two):
        return two if one == 0 else one
    return add(b, one, two)


def divide(b: Builder, above: Operand, below: Operand) -> Operand:
    """The quotient, rounded correctly. Source: CDNA3 ISA, V_DIV_FIXUP_F32."""
    above, below = b.in_vector(above), b.in_vector(below)
    scaled = Virtual().all
    b.say("v_div_scale_f32", (scaled, Virtual(2, SCALARS).all), (below, below, above))
    top = Virtual().all
    b.say("v_div_scale_f32", (top, "vcc"), (above, below, above))
    minus = negated(b, scaled)
    guess = b.valu("v_rcp_f32", scaled)
    error = fused(b, minus, guess, ONE)
    guess = fused(b, error, guess, guess)
    quotient = multiply(b, top, guess)
    rest = fused(b, minus, quotient, top)
    quotient = fused(b, rest, guess, quotient)
    rest = fused(b, minus, quotient, top)
    joined = b.valu("v_div_fmas_f32", rest, guess, quotient)
    return b.valu("v_div_fixup_f32", joined, below, above)


def _quick_divide(b: Builder, above: Operand, below: Operand) -> Operand:
    if isinstance(below, int) and (known := _reciprocal(below)) is not None:
        return multiply(b, above, known)
    key = ("reciprocal", below)
    inverse = b.kept(key, lambda: b.valu("v_rcp_f32", below))
    return inverse if above == ONE else multiply(b, above, inverse)


def _reciprocal(number: int) -> int | None:
    """That of a number, rounded once; ``None`` where it or the number is not normal."""
    value = _value(number)
    if not 2.0**-126 <= abs(value) <= 2.0**126:
        return None
    return bits(1.0 / value)


ONE = bits(1.0)
_TINY = bits(2.0**-96)


def _root(b: Builder, one: Operand, _: Operand) -> Operand:
    """The root, rounded correctly: its guess, or a neighbour whose square is nearer."""
    one = b.in_vector(one)
    small = lane_test(b, "v_cmp_gt_f32_e64", _TINY, one)
    larger = b.valu("v_ldexp_f32", one, 32)
    given = b.valu("v_cndmask_b32_e64", one, larger, small)
    guess: Operand = b.valu("v_sqrt_f32", given)
    below = b.valu("v_add_u32", 0xFFFFFFFF, guess)
    above = b.valu("v_add_u32", 1, guess)
    less = fused(b, negated(b, below), guess, given)
    more = fused(b, negated(b, above), guess, given)
    found = b.valu("v_cndmask_b32_e64", guess, below, _test(b, "ge", 0, less))
    found = b.valu("v_cndmask_b32_e64", found, above, _test(b, "lt", 0, more))
    shrunk = b.valu("v_ldexp_f32", found, -16 & 0xFFFFFFFF)
    found = b.valu("v_cndmask_b32_e64", found, shrunk, small)
    # Zeros, infinity and NaN are their own roots.
    kept = lane_test(b, "v_cmp_class_f32_e64", given, 0x260)
    return b.valu("v_cndmask_b32_e64", found, given, kept)


def _test(b: Builder, asks: str, one: Operand, two: Operand) -> Operand:
    return lane_test(b, f"v_cmp_{asks}_f32_e64", one, two)


def _power(b: Builder, one: Operand, _: Operand) -> Operand:
    """2 to a power; where the result is not normal, it is made so and scaled."""
    small = _test(b, "gt", bits(-126.0), one)
    raised = b.valu("v_add_f32", bits(64.0), one)
    given = b.valu("v_cndmask_b32_e64", one, raised, small)
    found = b.valu("v_exp_f32", given)
    shrunk = b.valu("v_ldexp_f32", found, -64 & 0xFFFFFFFF)
    return b.valu("v_cndmask_b32_e64", found, shrunk, small)


_LOG2_E = bits(1.4426950408889634)
_LOG2_E_REST = bits(
    1.4426950408889634 - struct.unpack("<f", struct.pack("<I", _LOG2_E))[0]
)


def _exponential(b: Builder, one: Operand, _: Operand) -> Operand:
    """E to a power: the power of 2 is computed in two parts, its whole one exactly."""
    one = b.in_vector(one)
    product = multiply(b, _LOG2_E, one)
    rest = fused(b, one, b.in_vector(_LOG2_E), negated(b, product))
    rest = fused(b, one, b.in_vector(_LOG2_E_REST), rest)
    whole = b.valu("v_rndne_f32", product)
    part = add(b, _subtract(b, product, whole), rest)
    found: Operand = b.valu("v_exp_f32", part)
    found = b.valu("v_ldexp_f32", found, b.valu("v_cvt_i32_f32", whole))
    lost = _test(b, "gt", bits(-104.0), one)
    found = b.valu("v_cndmask_b32_e64", found, 0, lost)
    beyond = _test(b, "lt", bits(88.72284), one)
    return b.valu("v_cndmask_b32_e64", found, b.in_vector(_INFINITY), beyond)


_INFINITY = bits(float("inf"))


def _quick_exponential(b: Builder, one: Operand, _: Operand) -> Operand:
    return b.valu("v_exp_f32", multiply(b, _LOG2_E, one))


def _logarithm(b: Builder, one: Operand, _: Operand) -> Operand:
    """The logarithm to base 2; numbers that are not normal are made so."""
    small = _test(b, "gt", bits(2.0**-126), one)
    larger = b.valu("v_ldexp_f32", one, 32)
    given = b.valu("v_cndmask_b32_e64", one, larger, small)
    found = b.valu("v_log_f32", given)
    less = b.valu("v_add_f32", bits(-32.0), found)
    return b.valu("v_cndmask_b32_e64", found, less, small)


def _quick_natural(b: Builder, one: Operand, _: Operand) -> Operand:
    return multiply(b, _LN_2, _logarithm(b, one, 0))


_LN_2 = bits(0.6931471805599453)


EXACT: Mapping[str, Float] = {
    "addf": add,
    "subf": _subtract,
    "mulf": multiply,
    "divf": divide,
    "negf": negated,
    "absf": _magnitude,
    "copysign": _with_sign_of,
    "maximumf": _extreme("v_max_f32"),
    "minimumf": _extreme("v_min_f32"),
    "floor": _plain("v_floor_f32"),
    "ceil": _plain("v_ceil_f32"),
    "roundeven": _plain("v_rndne_f32"),
    "sqrt": _root,
    "rsqrt": lambda b, one, _: divide(b, ONE, _root(b, one, 0)),
    "exp2": _power,
    "exp": _exponential,
    "log2": _logarithm,
}
"""f32 by the word of `Instructions`."""

FAST: Mapping[str, Float] = {
    **EXACT,
    "divf": _quick_divide,
    "addf": _quick_add,
    "maximumf": _quick_extreme("v_max_f32"),
    "minimumf": _quick_extreme("v_min_f32"),
    "sqrt": _plain("v_sqrt_f32"),
    "rsqrt": _plain("v_rsq_f32"),
    "exp2": _plain("v_exp_f32"),
    "exp": _quick_exponential,
    "log": _quick_natural,
}
"""The same where fast math allows less."""

_OF_THREE: Mapping[str, Float] = {
    "maximumf": lambda b, one, two: b.valu("v_maximum3_f32", one, two, two),
    "minimumf": lambda b, one, two: b.valu("v_minimum3_f32", one, two, two),
}
"""Of three numbers, NaN where one is NaN. Source: CDNA4 ISA, V_MAXIMUM3_F32."""


def floats_of(chip: str, *, fast: bool) -> Mapping[str, Float]:
    """f32 on a chip, by the word of `Instructions`.

    Args:
        chip: a key of `CHIPS`.
        fast: whether fast math allows less.
    """
    if fast:
        return FAST
    return {**EXACT, **_OF_THREE} if chip == "gfx950" else EXACT


_PACKED = {"addf": "v_pk_add_f16", "mulf": "v_pk_mul_f16"}


def halves(b: Builder, word: str, one: Operand, two: Operand) -> Operand | None:
    """Two f16 at once; ``None`` where there is no instruction for the word."""
    if word == "negf":
        return b.valu("v_xor_b32", 0x80008000, one)
    if word == "absf":
        return b.valu("v_and_b32", 0x7FFF7FFF, one)
    if word == "subf":
        two, word = b.valu("v_xor_b32", 0x80008000, two), "addf"
    if word not in _PACKED:
        return None
    return b.valu(_PACKED[word], b.in_vector(one), b.in_vector(two))


TESTS = {"oeq": "eq", "une": "neq", "olt": "lt", "ole": "le", "ogt": "gt", "oge": "ge"}
"""What comparisons of floats are called."""
