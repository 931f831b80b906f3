"""Powers of e and 2, and what is made of them.

An exponent is split into a whole number, which becomes that of the float, and a rest
near 0, for which the series is short.
"""

from __future__ import annotations

import math

from wave_core.backends.mathematics.number import F32, F64, Number, limited

LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")
"""ln 2 with so few bits that its products with exponents are exact."""
LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
LN2_HIGH_F32 = float.fromhex("0x1.62e4p-1")
LN2_LOW_F32 = float.fromhex("0x1.7f7d1cf79abcap-20")

SERIES = {F64: 14, F32: 8}
"""Terms of the series of e to the power of at most 0.35 that the type can tell."""

_MAGIC = {F64: 1.5 * 2.0**52, F32: 1.5 * 2.0**23}
"""Added to a whole number, it brings that into the low bits."""

_FIELD = {F64: (52, 1023), F32: (23, 127)}
"""Bits of the mantissa, and the exponent of one."""

_SPAN = {F64: 1100.0, F32: 160.0}
"""Exponents of two beyond which all powers are 0 or infinite."""


def scaled(value: Number, power: Number) -> Number:
    """``value`` times 2 to the power of a whole number, in two exact steps.

    The whole number is a float of the same type, of at most twice the exponents.
    """
    half = (power * 0.5).nearest
    return value * _power(half) * _power(power - half)


def _power(whole: Number) -> Number:
    mantissa, bias = _FIELD[whole.kind]
    bits = (whole + _MAGIC[whole.kind]).bits + bias
    return (bits << mantissa).as_float(whole.kind)


def reduced(value: Number) -> tuple[Number, Number]:
    """The whole number of times that ln 2 is in ``value``, and the rest."""
    whole = (value * math.log2(math.e)).nearest
    high, low = (
        (LN2_HIGH, LN2_LOW) if value.kind == F64 else (LN2_HIGH_F32, LN2_LOW_F32)
    )
    rest = whole.times_plus(-low, whole.times_plus(-high, value))
    return whole, rest


def series(rest: Number) -> Number:
    """``e**rest - 1`` near 0, with all its bits there."""
    terms = [1 / math.factorial(n) for n in range(2, SERIES[rest.kind])]
    return (rest * rest).times_plus(rest.polynomial(terms), rest)


def exp(value: Number) -> Number:
    """The power of e with this exponent."""
    span = _SPAN[value.kind] * math.log(2)
    whole, rest = reduced(limited(value, -span, span))
    return value.is_nan.choose(value, scaled(_power_of_e(rest), whole))


def _power_of_e(rest: Number) -> Number:
    """A power of e whose exponent is near 0; that of f32 may be off by three units."""
    if rest.kind == F64:
        return series(rest) + 1.0
    return (rest * math.log2(math.e)).approximate("exp2")


def exp2(value: Number) -> Number:
    """The power of 2 with this exponent."""
    within = limited(value, -_SPAN[value.kind], _SPAN[value.kind])
    whole = within.nearest
    rest = (within - whole) * math.log(2)
    return value.is_nan.choose(value, scaled(series(rest) + 1.0, whole))


def exp_minus_1(value: Number) -> Number:
    """``e**value - 1`` of a number that is neither large nor NaN."""
    whole, rest = reduced(value)
    one = value.like(1.0)
    power = scaled(one, whole)
    return power.times_plus(series(rest), power - one)


def tanh(value: Number) -> Number:
    """The hyperbolic tangent."""
    most = 20.0 if value.kind == F64 else 10.0
    above = exp_minus_1(limited(value.size, 0.0, most) * 2.0)
    result = (above / (above + 2.0)).signed_as(value)
    return value.is_nan.choose(value, result)


def sinh(value: Number) -> Number:
    """The hyperbolic sine, in two steps where the power is too large for one."""
    size = limited(value.size, 0.0, 1000.0)
    near = size.less(20.0)
    small = exp_minus_1(near.choose(size, 20.0))
    small = (small + small / (small + 1.0)) * 0.5
    half = exp(size * 0.5)
    large = half * 0.5 * half
    result = near.choose(small, large).signed_as(value)
    return value.is_nan.choose(value, result)
