"""Floats as bit patterns in plain integers: exact arithmetic, rounded once.

Nothing here uses numpy or the emulator. A number is ``(sign, mantissa, exponent)``
with the value ``(-1)**sign * mantissa * 2**exponent``.
"""

from __future__ import annotations

import math
import struct

#: Exponent and mantissa bits.
FORMATS = {"f16": (5, 10), "f32": (8, 23), "f64": (11, 52), "bf16": (8, 7)}
WIDTH = {"f16": 16, "f32": 32, "f64": 64, "bf16": 16}


def infinity(kind, sign=0):
    exponent, mantissa = FORMATS[kind]
    return ((1 << exponent) - 1) << mantissa | sign << (WIDTH[kind] - 1)


def quiet_nan(kind):
    return infinity(kind) | 1 << (FORMATS[kind][1] - 1)


def zero(kind, sign=0):
    return sign << (WIDTH[kind] - 1)


def largest(kind):
    return infinity(kind) - 1


def smallest_normal(kind):
    return 1 << FORMATS[kind][1]


def sign_of(kind, a):
    return a >> (WIDTH[kind] - 1) & 1


def magnitude(kind, a):
    return a & (1 << (WIDTH[kind] - 1)) - 1


def negate(kind, a):
    return a ^ 1 << (WIDTH[kind] - 1)


def is_nan(kind, a):
    return magnitude(kind, a) > infinity(kind)


def is_signalling(kind, a):
    return is_nan(kind, a) and not a >> (FORMATS[kind][1] - 1) & 1


def quiet(kind, a):
    return a | 1 << (FORMATS[kind][1] - 1)


def is_inf(kind, a):
    return magnitude(kind, a) == infinity(kind)


def is_zero(kind, a):
    return magnitude(kind, a) == 0


def is_denormal(kind, a):
    return 0 < magnitude(kind, a) < smallest_normal(kind)


def flush(kind, a):
    return zero(kind, sign_of(kind, a)) if is_denormal(kind, a) else a


def exponent_field(kind, a):
    return magnitude(kind, a) >> FORMATS[kind][1]


def unpack(kind, a):
    """A finite number's parts."""
    exponent, mantissa = FORMATS[kind]
    field = exponent_field(kind, a)
    fraction = a & (1 << mantissa) - 1
    bias = (1 << (exponent - 1)) - 1
    if field == 0:
        return sign_of(kind, a), fraction, 1 - bias - mantissa
    return sign_of(kind, a), fraction | 1 << mantissa, field - bias - mantissa


def pack(kind, sign, value, exponent, *, sticky=False, mode="even"):
    """Round ``value * 2**exponent``; ``sticky`` says that a little more is there."""
    bits, mantissa = FORMATS[kind]
    if value == 0 and not sticky:
        return zero(kind, sign)
    lowest = 2 - (1 << (bits - 1)) - mantissa
    shift = max(value.bit_length() - mantissa - 1, lowest - exponent)
    if shift <= 0:
        value, rest, half = value << -shift, int(sticky), 2
    else:
        rest, value = value & (1 << shift) - 1, value >> shift
        half = 1 << (shift - 1)
        rest, half = 2 * rest + sticky, 2 * half
    exponent += shift
    if mode == "even" and (rest > half or (rest == half and value & 1)):
        value += 1
    if value >> (mantissa + 1):
        value, exponent = value >> 1, exponent + 1
    field = exponent - lowest + 1 if value >> mantissa else 0
    if field >= (1 << bits) - 1:
        top = infinity(kind) if mode == "even" else largest(kind)
        return top | zero(kind, sign)
    return field << mantissa | value & (1 << mantissa) - 1 | zero(kind, sign)


def from_int(kind, value, mode="even"):
    return pack(kind, int(value < 0), abs(value), 0, mode=mode)


def convert(source, target, a, mode="even"):
    """From one format to another; NaN stays a quiet NaN."""
    if is_nan(source, a):
        return quiet_nan(target) | zero(target, sign_of(source, a))
    if is_inf(source, a):
        return infinity(target, sign_of(source, a))
    return pack(target, *unpack(source, a), mode=mode)


def add(kind, a, b):
    if is_nan(kind, a) or is_nan(kind, b):
        return quiet_nan(kind)
    if is_inf(kind, a):
        return quiet_nan(kind) if b == negate(kind, a) else a
    if is_inf(kind, b):
        return b
    return _sum(kind, unpack(kind, a), unpack(kind, b))


def _sum(kind, x, y, power=0):
    low = min(x[2], y[2])
    total = sum((-m if s else m) << (e - low) for s, m, e in (x, y))
    if total == 0:
        return zero(kind, int(x[0] and y[0]) if x[1] == 0 == y[1] else 0)
    return pack(kind, int(total < 0), abs(total), low + power)


def sub(kind, a, b):
    return add(kind, a, b if is_nan(kind, b) else negate(kind, b))


def mul(kind, a, b):
    if is_nan(kind, a) or is_nan(kind, b):
        return quiet_nan(kind)
    sign = sign_of(kind, a) ^ sign_of(kind, b)
    if is_inf(kind, a) or is_inf(kind, b):
        invalid = is_zero(kind, a) or is_zero(kind, b)
        return quiet_nan(kind) if invalid else infinity(kind, sign)
    (_, m, e), (_, n, f) = unpack(kind, a), unpack(kind, b)
    return pack(kind, sign, m * n, e + f)


def fma(kind, a, b, c, power=0):
    """(A * b + c) * 2**power, rounded once."""
    if is_nan(kind, a) or is_nan(kind, b) or is_nan(kind, c):
        return quiet_nan(kind)
    sign = sign_of(kind, a) ^ sign_of(kind, b)
    if is_inf(kind, a) or is_inf(kind, b):
        invalid = is_zero(kind, a) or is_zero(kind, b)
        invalid |= is_inf(kind, c) and sign_of(kind, c) != sign
        return quiet_nan(kind) if invalid else infinity(kind, sign)
    if is_inf(kind, c):
        return c
    (_, m, e), (_, n, f) = unpack(kind, a), unpack(kind, b)
    return _sum(kind, (sign, m * n, e + f), unpack(kind, c), power)


def divide(kind, a, b):
    if is_nan(kind, a) or is_nan(kind, b):
        return quiet_nan(kind)
    sign = sign_of(kind, a) ^ sign_of(kind, b)
    if is_inf(kind, a) or is_zero(kind, b):
        invalid = is_inf(kind, b) or is_zero(kind, a)
        return quiet_nan(kind) if invalid else infinity(kind, sign)
    if is_inf(kind, b):
        return zero(kind, sign)
    (_, m, e), (_, n, f) = unpack(kind, a), unpack(kind, b)
    whole, rest = divmod(m << 128, n)
    return pack(kind, sign, whole, e - f - 128, sticky=rest != 0)


def square_root(kind, a):
    if is_nan(kind, a) or (sign_of(kind, a) and not is_zero(kind, a)):
        return quiet_nan(kind)
    if is_inf(kind, a) or is_zero(kind, a):
        return a
    _, m, e = unpack(kind, a)
    m, e = m << (200 + (e & 1)), e - 200 - (e & 1)
    root = math.isqrt(m)
    return pack(kind, 0, root, e // 2, sticky=root * root != m)


def reciprocal_root(kind, a):
    if is_nan(kind, a) or (sign_of(kind, a) and not is_zero(kind, a)):
        return quiet_nan(kind)
    if is_zero(kind, a):
        return infinity(kind, sign_of(kind, a))
    if is_inf(kind, a):
        return zero(kind)
    _, m, e = unpack(kind, a)
    m, e = m << (e & 1), e - (e & 1)
    root = math.isqrt((1 << 400) // m)
    return pack(kind, 0, root, -200 - e // 2, sticky=True)


def scale(kind, a, n):
    """A * 2**n with one rounding."""
    if is_nan(kind, a):
        return quiet(kind, a)
    if is_inf(kind, a):
        return a
    sign, m, e = unpack(kind, a)
    return pack(kind, sign, m, e + max(-5000, min(5000, n)))


def order(kind, a):
    """An integer that grows with the number; -0 is below +0."""
    return -magnitude(kind, a) - 1 if sign_of(kind, a) else magnitude(kind, a)


def round_to_integer(kind, a, how):
    """``trunc``, ``floor``, ``ceil`` or ``even``; a zero keeps the sign."""
    if is_nan(kind, a):
        return quiet(kind, a)
    if is_inf(kind, a):
        return a
    sign, m, e = unpack(kind, a)
    if e >= 0 or m == 0:
        return a
    whole, rest = m >> -e, m & (1 << -e) - 1
    half = 1 << (-e - 1)
    up = {
        "trunc": False,
        "floor": sign and rest,
        "ceil": not sign and rest,
        "even": rest > half or (rest == half and whole & 1),
    }[how]
    return pack(kind, sign, whole + bool(up), 0)


def to_integer(kind, a, low, high):
    """Truncate and saturate; NaN is zero."""
    if is_nan(kind, a):
        return 0
    if is_inf(kind, a):
        return low if sign_of(kind, a) else high
    sign, m, e = unpack(kind, a)
    value = m << e if e >= 0 else m >> -e
    return max(low, min(high, -value if sign else value))


def as_double(kind, a):
    """The number as a Python float; exact."""
    bits = convert(kind, "f64", a) if kind != "f64" else a
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def from_double(kind, value):
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits if kind == "f64" else convert("f64", kind, bits)


def ulps(kind, a, b):
    """How many numbers lie between; 0 for two NaNs, infinite for one."""
    if is_nan(kind, a) or is_nan(kind, b):
        return 0 if is_nan(kind, a) and is_nan(kind, b) else math.inf
    return abs(order(kind, a) - order(kind, b))
