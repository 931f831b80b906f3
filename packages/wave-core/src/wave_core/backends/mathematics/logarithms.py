"""Logarithms, and powers of any base, which need more digits of one.

A number is split into a power of two and a mantissa near 1, whose logarithm is
``2 * atanh(s)`` with ``s = (m - 1) / (m + 1)``.
"""

from __future__ import annotations

import math

from wave_core.backends.mathematics.exponentials import (
    LN2_HIGH,
    LN2_LOW,
    reduced,
    scaled,
    series,
)
from wave_core.backends.mathematics.number import F32, F64, I32, Number, limited

_TERMS = {F64: 12, F32: 5}
"""Terms of the series of atanh up to 0.172 that the type can tell."""

_FORMAT = {
    F64: (52, 1022, 0x3FE6A09E667F3BCD, 54),
    F32: (23, 126, 0x3F3504F3, 25),
}
"""Bits of the mantissa, the exponent of one half, the bits of the root of one half,
and by which power of two numbers below the normal range are brought into it."""


def split(value: Number) -> tuple[Number, Number]:
    """Exponent and mantissa of a positive number, the mantissa around 1."""
    kind = value.kind
    mantissa, _, root, up = _FORMAT[kind]
    least = 2.0**-1022 if kind == F64 else 2.0**-126
    small = value.less(least)
    bits = small.choose(value * 2.0**up, value).bits - root
    # The difference of the bits counts by how many powers it is away.
    shift = bits.shifted(mantissa)
    rest = (bits - (shift << mantissa) + root).as_float(kind)
    power = shift if kind == F32 else shift.truncated(I32)
    power = power - small.choose(up, 0, I32)
    return power.to_float(kind), rest


def _atanh_rest(square: Number) -> Number:
    """What the series of ``2 * atanh(s) / s`` has behind the 2, over ``s**2``."""
    terms = [2 / (2 * n + 1) for n in range(1, _TERMS[square.kind])]
    return square.polynomial(terms)


def _ratio(above: Number, below: Number) -> Number:
    """A quotient of numbers around 1; that of f32 may be off by two units."""
    if above.kind == F64:
        return above / below
    return above * below.approximate("reciprocal")


def _log_of_mantissa(mantissa: Number) -> Number:
    above = mantissa - 1.0
    ratio = _ratio(above, above + 2.0)
    square = ratio * ratio
    # Twice the ratio is what is above 1, less the ratio times that: exact near 1.
    return ratio.times_plus(square * _atanh_rest(square) - above, above)


def _checked(value: Number, result: Number) -> Number:
    """Infinity, 0, and NaN for what has no logarithm."""
    result = value.equals(math.inf).choose(value, result)
    result = value.equals(0.0).choose(-math.inf, result)
    bad = value.less(0.0).choose(math.nan, result)
    return value.is_nan.choose(value, bad)


def log(value: Number) -> Number:
    """The natural logarithm."""
    power, mantissa = split(value)
    high, low = LN2_HIGH, LN2_LOW
    if value.kind == F32:
        high = float.fromhex("0x1.62e4p-1")
        low = math.log(2) - high
    total = power.times_plus(low, _log_of_mantissa(mantissa))
    return _checked(value, power.times_plus(high, total))


def log2(value: Number) -> Number:
    """The logarithm to the base of 2."""
    power, mantissa = split(value)
    part = _log_of_mantissa(mantissa)
    return _checked(value, part.times_plus(math.log2(math.e), power))


LOG10_2_HIGH = float.fromhex("0x1.34413509f7800p-2")
LOG10_2_LOW = float.fromhex("0x1.fef311f12b358p-46")


def log10(value: Number) -> Number:
    """The logarithm to the base of 10."""
    power, mantissa = split(value)
    part = _log_of_mantissa(mantissa)
    low = part * math.log10(math.e)
    if value.kind == F64:
        low = power.times_plus(LOG10_2_LOW, low)
        return _checked(value, power.times_plus(LOG10_2_HIGH, low))
    return _checked(value, power.times_plus(math.log10(2), low))


def _two_sum(large: Number, small: Number) -> tuple[Number, Number]:
    """A sum and what it lost."""
    total = large + small
    return total, small - (total - large)


def _precise_log(value: Number) -> tuple[Number, Number]:
    """The natural logarithm of a positive f64 as a sum of two numbers."""
    power, mantissa = split(value)
    above = mantissa - 1.0
    below = above + 2.0
    lost = above - (below - 2.0)
    ratio = above / below
    rest = (-ratio).times_plus(below, above)
    rest = (-ratio).times_plus(lost, rest) / below
    square = ratio * ratio
    square_rest = ratio.times_plus(ratio, -square)
    square_rest = square_rest + ratio * rest * 2.0
    tail = [2 / (2 * n + 1) for n in range(2, 14)]
    third, third_low = 2 / 3, float.fromhex("0x1.5555555555555p-55")
    # 2 s + s**3 (2/3 + s**2 ...): the first two terms with what they lose.
    cube = square * ratio
    cube_rest = square.times_plus(ratio, -cube)
    cube_rest = cube_rest + square_rest * ratio + square * rest
    main = cube * third
    main_rest = cube.times_plus(third, -main) + cube * third_low + cube_rest * third
    main_rest = main_rest + cube * square * square.polynomial(tail)
    high, low = _two_sum(ratio * 2.0, main)
    low = low + rest * 2.0 + main_rest
    whole = power * LN2_HIGH
    far = power.equals(0.0)
    top, low_ = _two_sum(whole, high)
    top = far.choose(high, top)
    low_ = far.choose(0.0, low_)
    return _two_sum(top, power.times_plus(LN2_LOW, low_ + low))


def powf(base: Number, power: Number) -> Number:
    """Any base to any power, as C defines it."""
    size = base.size
    high, low = _precise_log(size)
    product = power * high
    lost = power.times_plus(high, -product)
    lost = power.times_plus(low, lost)
    inside = limited(product, -760.0, 760.0)
    whole, rest = reduced(inside)
    kept = inside.equals(product).choose(lost, 0.0)
    result = scaled(series(rest + kept) + 1.0, whole)
    return _special_powers(base, power, result)


def _special_powers(base: Number, power: Number, result: Number) -> Number:
    """What zeros, infinities, negative bases and NaN give."""
    size, far = base.size, power.size
    whole = power.nearest.equals(power)
    half = power * 0.5
    odd = whole & half.nearest.differs(half)
    negative = base.bits.less(0)
    flips = negative & odd
    # The power of 0 and of infinity.
    up = power.greater(0.0)
    empty = size.equals(0.0)
    edge = (empty ^ up).choose(math.inf, 0.0, F64)
    infinite = size.equals(math.inf)
    result = (empty | infinite).choose(edge, result)
    # Powers that are infinite: which side of 1 the base is on.
    grows = (size.greater(1.0) ^ up).choose(0.0, math.inf, F64)
    grows = size.equals(1.0).choose(1.0, grows)
    result = far.equals(math.inf).choose(grows, result)
    signed = flips.choose(-result, result)
    real = infinite | empty | far.equals(math.inf) | whole
    lost = base.less(0.0) & (real ^ real.like(1))
    signed = lost.choose(math.nan, signed)
    signed = (base.is_nan | power.is_nan).choose(math.nan, signed)
    return (power.equals(0.0) | base.equals(1.0)).choose(1.0, signed)


def cbrt(value: Number) -> Number:
    """The cube root of an f64: a third of the exponent, then Newton's steps."""
    size = value.size
    power, mantissa = split(size)
    third = (power * (1 / 3)).nearest
    left = scaled(mantissa, power - third * 3.0)
    guess = left * (1 / 3) + 2 / 3
    for _ in range(5):
        square = guess * guess
        guess = guess - (square * guess - left) / (square * 3.0)
    square = guess * guess
    error = square.times_plus(guess, -left)
    guess = guess - error / (square * 3.0)
    result = scaled(guess, third).signed_as(value)
    plain = size.less(math.inf) & size.greater(0.0)
    return plain.choose(result, value)
