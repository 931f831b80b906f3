"""Sine and cosine, on f64."""

from __future__ import annotations

from wave_backend_nvgpu.codegen.mathematics.number import written
from wave_core.backends.mathematics.angles import (
    HALF_PI,
    NEAR,
    TWO_OVER_PI,
    by_turn,
    near_turns,
)
from wave_core.backends.mathematics.number import F64, I32, I64, Number, finite

TABLE = "wave.two_over_pi"
_ZEROS = 2
"""Words of zeros in front, for exponents that reach before the first bit."""


def _word(at: Number) -> Number:
    """A word of the table, as 64 bits."""
    body = written(at)
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
    """The same as `near_turns` of any finite angle, without its sign.

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
    carry = written(top).op(unsigned, "i1").extended(I64)
    high = top + middle + carry
    turns = ((high + (1 << 61)) >> 62).truncated(I32)
    part = ((high << 2) | (total >> 62)).to_float(F64) * 2.0**-64
    part = part + (total << 2).to_float_unsigned(F64) * 2.0**-128
    return turns, part * HALF_PI[0]


def _reduced(value: Number) -> tuple[Number, Number]:
    """Quarter turns of the size of an angle, and the rest."""
    size = value.size
    body = written(value)
    turns, rest = near_turns(size)
    far = size.less(NEAR).choose(0, 1, "i1")
    return body.when(far, lambda: _far(size), (turns, rest))


def sin(value: Number) -> Number:
    """The sine of an angle in radians."""
    turns, rest = _reduced(value)
    result = by_turn(turns, rest)
    result = value.bits.less(0).choose(-result, result)
    result = value.equals(0.0).choose(value, result)
    return finite(value, result)


def cos(value: Number) -> Number:
    """The cosine of an angle in radians."""
    turns, rest = _reduced(value)
    return finite(value, by_turn(turns + 1, rest))
