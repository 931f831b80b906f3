"""The error function and its complement.

Those of f32 are written in f32: hundreds of a thread, as the gelu of a tile of a matrix
product has, would take all its registers in f64.
"""

from __future__ import annotations

import math

from wave_core.backends.mathematics.exponentials import (
    LN2_HIGH_F32,
    LN2_LOW_F32,
    exp,
    scaled,
    series,
)
from wave_core.backends.mathematics.number import F32, Number, limited

CENTER = 4.0
SCALED = tuple(
    float.fromhex(text)
    for text in (
        *("0x1.3ba5916e9fd7fp+0", "-0x1.1df1ad154a28ep-3", "0x1.f7f5df66fd7b5p-7"),
        *("0x1.16ecefcfa539fp-4", "-0x1.9ddb23c3e90bdp-4", "0x1.7fee004e1239ep-4"),
        *("-0x1.0fb06dfe492f7p-4", "0x1.3079edf686ea5p-5", "-0x1.096238852a9fcp-6"),
        *("0x1.49c672849ea14p-8", "-0x1.8d4a99b4b2dd1p-11"),
        *("-0x1.a1df23f69b79bp-13", "0x1.3be036643de8fp-13"),
        *("-0x1.9959822aa4b4ep-16", "-0x1.788279a7ccb3cp-17"),
        *("0x1.7f2c5c8ec5d30p-18", "0x1.38b2e0eb4a04bp-22"),
        *("-0x1.bb60481a7ad5ap-21", "0x1.50574e6c2e71fp-24"),
        *("0x1.dd8f8b4ee1255p-24", "-0x1.6ab00acf17e60p-26"),
        *("-0x1.0a397f21020f7p-26", "0x1.caf09de37e3c0p-29"),
        *("0x1.1f46d2a2ddf67p-29", "-0x1.2e143a04212abp-32"),
        "-0x1.86e228fbebf8ap-33",
    )
)
"""``exp(z*z) * erfc(z) * (2*z + 1)`` over ``(z - 4) / (z + 4)``, for z up to 28.

Source: Chebyshev's interpolation of degree 25, computed with 60 digits; off by less
than 3e-16, three units in the last place.
"""

LAST = 28.0
"""Where the complement is below all numbers."""


NEAR_F32 = 0.75
"""Below it the complement of f32 is one less the error function."""

CENTER_F32, LAST_F32 = 1.5, 10.125

SCALED_F32 = tuple(
    float.fromhex(text)
    for text in (
        *("0x1.edf488p-1", "-0x1.0404eap-1", "0x1.35bf06p-4", "0x1.874f58p-5"),
        *("-0x1.09d7bp-7", "-0x1.35afd2p-7", "-0x1.da1202p-11", "0x1.dd8236p-10"),
        *("0x1.4ce1d8p-10", "-0x1.7d496ep-11"),
    )
)
"""``exp(z*z) * erfc(z) * (z + 1.5)`` over ``(z - 1.5) / (z + 1.5)``, far from 0.

Source: the least squares of 400 points, each coefficient rounded to f32 before those
behind it are sought; off by less than 2e-9. With them the complement is off by less
than three units in the last place.
"""

AROUND_0_F32 = tuple(
    float.fromhex(text)
    for text in (
        *("0x1.20dd74p+0", "-0x1.8126d2p-2", "0x1.ce1fccp-4", "-0x1.b747d4p-6"),
        *("0x1.4f79fep-8", "-0x1.873b3cp-11", "0x1.036a28p-14"),
    )
)
"""``erf(z) / z`` over ``z*z``, for z up to 1. Source: as `SCALED_F32`."""


def erfc(value: Number) -> Number:
    """The complement of the error function, precise where it is small."""
    result = _erfc_f32(value) if value.kind == F32 else _erfc_f64(value)
    return value.is_nan.choose(value, result)


def erf(value: Number) -> Number:
    """The error function."""
    near = value.size.less(1.0)
    inside = near.choose(value, 0.0)
    small = inside * (inside * inside).polynomial(_around_0(value))
    tail = _tail_f32(value.size) if value.kind == F32 else _erfc_f64(value.size)
    large = (-tail + 1.0).signed_as(value)
    return value.is_nan.choose(value, near.choose(small, large))


def _around_0(value: Number) -> tuple[float, ...]:
    """The coefficients of ``erf(z) / z`` over ``z*z`` for a type."""
    if value.kind == F32:
        return AROUND_0_F32
    return tuple(
        2 / math.sqrt(math.pi) * (-1) ** n / (math.factorial(n) * (2 * n + 1))
        for n in range(20)
    )


def _erfc_f64(value: Number) -> Number:
    size = limited(value.size, 0.0, LAST)
    square = size * size
    lost = size.times_plus(size, -square)
    power = exp(-square)
    power = lost.times_plus(-power, power)
    place = (size - CENTER) / (size + CENTER)
    tail = power * place.polynomial(SCALED) / (size * 2.0 + 1.0)
    return value.less(0.0).choose(-tail + 2.0, tail)


def _erfc_f32(value: Number) -> Number:
    tail = _tail_f32(value.size)
    near = value.size.less(NEAR_F32)
    inside = near.choose(value, 0.0)
    small = (inside * inside).polynomial(AROUND_0_F32)
    far = value.less(0.0).choose(-tail + 2.0, tail)
    return near.choose((-inside).times_plus(small, 1.0), far)


def _tail_f32(size: Number) -> Number:
    """The complement for sizes from `NEAR_F32` on."""
    size = limited(size, 0.0, LAST_F32)
    square = size * size
    lost = size.times_plus(size, -square)
    whole = (square * -math.log2(math.e)).nearest
    rest = whole.times_plus(-LN2_HIGH_F32, -square)
    rest = rest - whole.times_plus(LN2_LOW_F32, lost)
    inverse = _inverse_f32(size)
    place = (size - CENTER_F32) * inverse
    value = place.polynomial(SCALED_F32) * inverse
    return scaled(series(rest).times_plus(value, value), whole)


def _inverse_f32(size: Number) -> Number:
    """``1 / (size + CENTER_F32)``, of the sum that is not rounded."""
    total = size + CENTER_F32
    rest = size - (total - CENTER_F32)
    found = total.approximate("reciprocal")
    off = (-rest).times_plus(found, (-total).times_plus(found, 1.0))
    return off.times_plus(found, found)
