"""Sine and cosine of f32, and the angle of a point, on f64."""

from __future__ import annotations

import math
from itertools import pairwise

from wave_core.backends.mathematics.number import F64, I32, I64, Number, finite

HALF_PI = (
    float.fromhex("0x1.921fb54442d18p+0"),
    float.fromhex("0x1.1a62633145c07p-54"),
    float.fromhex("-0x1.f1976b7ed8fbcp-110"),
)
"""Half of pi as a sum."""

NEAR = 2.0**20
"""Below it three parts of half of pi are enough."""

TWO_OVER_PI = (
    *(0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041),
    *(0xFE5163AB, 0xDEBBC561, 0xB7246E3A, 0x424DD2E0, 0x06492EEA, 0x09D1921C),
    *(0xFE1DEB1C, 0xB129A73E, 0xE88235F5, 0x2EBB4484, 0xE99C7026, 0xB45F7E41),
    *(0x3991D639, 0x835339F4, 0x9C845F8B, 0xBDF9283B, 0x1FF897FF, 0xDE05980F),
    *(0xEF2F118B, 0x5A0A6D1F, 0x6D367ECF, 0x27CB09B7, 0x4F463F66, 0x9E5FEA2D),
    *(0x7527BAC7, 0xEBE5F17B, 0x3D0739F7, 0x8A5292EA, 0x6BFB5FB1, 0x1F8D5D08),
    *(0x56033046, 0xFC7B6BAB, 0xF0CFBC20, 0x9AF4361D),
)
"""The first 1280 bits of two over pi behind the point."""


def _turns(value: Number) -> Number:
    """How many quarter turns an angle is, as a whole number in a float."""
    return (value * (2 / math.pi)).nearest


def near_turns(value: Number) -> tuple[Number, Number]:
    """Quarter turns of an angle below `NEAR`, as an integer, and the rest."""
    turns = _turns(value)
    rest = value
    for part in HALF_PI:
        rest = turns.times_plus(-part, rest)
    count = (turns + 1.5 * 2.0**52).bits.truncated(I32)
    return count, rest


def _sine_series(rest: Number) -> Number:
    square = rest * rest
    terms = [(-1) ** n / math.factorial(2 * n + 1) for n in range(1, 9)]
    return (square * rest).times_plus(square.polynomial(terms), rest)


def _cosine_series(rest: Number) -> Number:
    square = rest * rest
    terms = [(-1) ** n / math.factorial(2 * n) for n in range(2, 9)]
    small = square * square * square.polynomial(terms)
    half = square * 0.5
    total = -half + 1.0
    # What the difference from 1 lost comes back.
    return total + ((-total + 1.0 - half) + small)


def by_turn(turns: Number, rest: Number) -> Number:
    """The sine of quarter turns and a rest."""
    swapped = (turns & 1).differs(0)
    result = swapped.choose(_cosine_series(rest), _sine_series(rest))
    return (turns & 2).differs(0).choose(-result, result)


_LEADING = [0, 0, *TWO_OVER_PI[:9]]
"""Words that f32 reaches, behind zeros for exponents that begin before the point."""

_LOW = (1 << 32) - 1


def _window(skipped: Number) -> list[Number]:
    """Three words of two over pi behind so many bits, as 64 bits each."""
    first, words = skipped >> 5, [skipped.body.constant(w, I32) for w in _LEADING]
    for step in (4, 2, 1):
        taken = (first & step).differs(0)
        pairs = zip(words, words[step:], strict=False)
        words = [taken.choose(further, here) for here, further in pairs]
    wide = [word.extended(I64) for word in words[:4]]
    shift = (skipped & 31).extended(I64)
    return [(((high << 32) | low) << shift) >> 32 for high, low in pairwise(wide)]


def _far_turns(value: Number) -> tuple[Number, Number]:
    """The same as `near_turns` of any finite f32, without its sign.

    The mantissa times those bits of two over pi that count: earlier ones give
    multiples of four quarter turns. Source: Payne and Hanek, SIGNUM 18 (1983).
    """
    bits = value.bits
    exponent = (bits >> 23) & 0xFF
    mantissa = ((bits & 0x7FFFFF) | 0x800000).extended(I64)
    top, middle, low = _window(exponent - (127 + 23 + 2 - 64))
    second = mantissa * middle + ((mantissa * low) >> 32)
    first = mantissa * top + (second >> 32)
    high = (first << 32) | (second & _LOW)
    turns = ((high + (1 << 61)) >> 62).truncated(I32)
    rest = high << 2
    upper = (rest >> 32).truncated(I32).to_float(F64)
    lower = rest.truncated(I32).to_float_unsigned(F64)
    part = upper.times_plus(2.0**32, lower) * 2.0**-64
    return turns, part * HALF_PI[0]


def _reduced(value: Number) -> tuple[Number, Number]:
    """Quarter turns of the size of an f32, and the rest, as f64."""
    size = value.size
    near = size.less(NEAR)
    sides = zip(near_turns(size.wide()), _far_turns(size), strict=True)
    turns, rest = (near.choose(one, other) for one, other in sides)
    return turns, rest


def sin(value: Number) -> Number:
    """The sine of an f32 in radians."""
    result = by_turn(*_reduced(value)).narrow()
    result = value.bits.less(0).choose(-result, result)
    result = value.equals(0.0).choose(value, result)
    return finite(value, result)


def cos(value: Number) -> Number:
    """The cosine of an f32 in radians."""
    turns, rest = _reduced(value)
    return finite(value, by_turn(turns + 1, rest).narrow())


def atan2(across: Number, along: Number) -> Number:
    """The angle of a point."""
    one, other = across.size, along.size
    steep = one.greater(other)
    low, high = steep.choose(other, one), steep.choose(one, other)
    ratio = low / high
    ratio = low.equals(high).choose(1.0, ratio)
    ratio = low.equals(0.0).choose(0.0, ratio)
    wide = ratio.greater(math.tan(math.pi / 8))
    reduced = wide.choose((ratio - 1.0) / (ratio + 1.0), ratio)
    square = reduced * reduced
    terms = [(-1) ** n / (2 * n + 1) for n in range(1, 23)]
    angle = (square * reduced).times_plus(square.polynomial(terms), reduced)
    angle = wide.choose(angle + HALF_PI[1] / 2 + HALF_PI[0] / 2, angle)
    angle = steep.choose(-(angle - HALF_PI[1]) + HALF_PI[0], angle)
    back = -(angle - 2 * HALF_PI[1]) + 2 * HALF_PI[0]
    angle = along.bits.less(0).choose(back, angle)
    bad = across.is_nan | along.is_nan
    return bad.choose(math.nan, angle.signed_as(across))
