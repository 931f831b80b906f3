"""Sine, cosine, and the angle of a point, on f64."""

from __future__ import annotations

import math

from wave_backend_nvgpu.codegen.mathematics.number import F64, I32, I64, Number

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

TABLE = "wave.two_over_pi"
_ZEROS = 2
"""Words of zeros in front, for exponents that reach before the first bit."""


def _turns(value: Number) -> Number:
    """How many quarter turns an angle is, as a whole number in a float."""
    return (value * (2 / math.pi)).nearest


def _near(value: Number) -> tuple[Number, Number]:
    """Quarter turns of an angle below `NEAR`, as an integer, and the rest."""
    turns = _turns(value)
    rest = value
    for part in HALF_PI:
        rest = turns.times_plus(-part, rest)
    count = (turns + 1.5 * 2.0**52).bits.truncated(I32)
    return count, rest


def _word(at: Number) -> Number:
    """A word of the table, as 64 bits."""
    body = at.body
    kind = f"[{len(TWO_OVER_PI) + _ZEROS} x i32]"
    words = ", ".join(f"i32 {word}" for word in (*[0] * _ZEROS, *TWO_OVER_PI))
    head = "internal unnamed_addr addrspace(4) constant"
    body.declared[TABLE] = f"@{TABLE} = {head} {kind} [{words}], align 4"
    place = body.op(
        f"getelementptr {kind}, ptr addrspace(4) @{TABLE}, i64 0, i64 {at.name}", "ptr"
    )
    text = f"load i32, ptr addrspace(4) {place.name}, align 4"
    return body.op(text, I32).extended(I64)


def _product(one: Number, other: Number) -> tuple[Number, Number]:
    """High and low half of a product of 64 bits without sign."""
    wide = one.extended("i128") * other.extended("i128")
    return (wide >> 64).truncated(I64), one * other


def _far(value: Number) -> tuple[Number, Number]:
    """The same as `_near` of any finite angle, without its sign.

    The mantissa times those bits of two over pi that count: earlier ones give
    multiples of four quarter turns. Source: Payne and Hanek, SIGNUM 18 (1983).
    """
    bits = value.bits
    exponent = (bits >> 52) & 0x7FF
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    skipped = exponent - (1023 + 52 + 2 - 32 * _ZEROS)
    first, shift = skipped >> 5, skipped & 31
    words = [_word(first + at) for at in range(7)]
    whole: list[Number] = []
    for at in range(0, 6, 2):
        pair = (words[at] << 32) | words[at + 1]
        below = ((words[at + 2] << 32) >> (-shift + 64)) & ((1 << 32) - 1)
        below = shift.equals(0).choose(0, below, I64)
        whole.append((pair << shift) | below)
    top = mantissa * whole[0]
    middle, low = _product(mantissa, whole[1])
    last, _ = _product(mantissa, whole[2])
    total = low + last
    unsigned = f"icmp ult i64 {total.name}, {low.name}"
    carry = top.body.op(unsigned, "i1").extended(I64)
    high = top + middle + carry
    turns = ((high + (1 << 61)) >> 62).truncated(I32)
    part = ((high << 2) | (total >> 62)).to_float(F64) * 2.0**-64
    part = part + (total << 2).to_float_unsigned(F64) * 2.0**-128
    return turns, part * HALF_PI[0]


def _reduced(value: Number) -> tuple[Number, Number]:
    """Quarter turns of the size of an angle, and the rest."""
    size = value.size
    body = value.body
    turns, rest = _near(size)
    far = size.less(NEAR).choose(0, 1, "i1")
    return body.when(far, lambda: _far(size), (turns, rest))


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


def _by_turn(turns: Number, rest: Number) -> Number:
    """The sine of quarter turns and a rest."""
    swapped = (turns & 1).differs(0)
    result = swapped.choose(_cosine_series(rest), _sine_series(rest))
    return (turns & 2).differs(0).choose(-result, result)


def sin(value: Number) -> Number:
    """The sine of an angle in radians."""
    turns, rest = _reduced(value)
    result = _by_turn(turns, rest)
    result = value.bits.less(0).choose(-result, result)
    result = value.equals(0.0).choose(value, result)
    return _finite(value, result)


def cos(value: Number) -> Number:
    """The cosine of an angle in radians."""
    turns, rest = _reduced(value)
    return _finite(value, _by_turn(turns + 1, rest))


def _finite(value: Number, result: Number) -> Number:
    return value.size.less(math.inf).choose(result, math.nan)


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
