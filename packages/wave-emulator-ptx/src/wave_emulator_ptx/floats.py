"""Arithmetic of floats as the PTX ISA rounds it."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Bools

DIRECT = frozenset(map(np.dtype, (np.float16, np.float32, np.float64)))
"""To these numpy rounds once, whatever it comes from: of f16 it is the range, below
what f32 has all integers of, that an integer goes through f32 unharmed."""


def flush(values: Array) -> Array:
    """Subnormal f32 become zeros of their sign (``.ftz``)."""
    small = np.abs(values) < np.float32(2.0**-126)
    return np.where(small, np.copysign(np.float32(0), values), values)


def fused(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` with one rounding, to the type of the operands.

    Products of narrow types are exact in f64; the sum is rounded to odd, so that the
    second rounding cannot err (Boldo and Melquiond, Emulation of FMA, 2008).
    """
    if a.dtype == np.float64:
        return _fused_double(a, b, c)
    wide = a.astype(np.float64) * b.astype(np.float64)
    return narrowed(sum_to_odd(wide, c.astype(np.float64)), a.dtype)


def sum_to_odd(a: Array, b: Array) -> Array:
    """A sum that is exact, or has an odd last bit and the sign of its error."""
    total, error = _two_sum(a, b)
    bits = total.view(np.int64)
    inexact = (error != 0) & np.isfinite(total) & ((bits & 1) == 0)
    outward = (error > 0) == (total > 0)
    return np.where(inexact, bits + np.where(outward, 1, -1), bits).view(np.float64)


def directed_sum(a: Array, b: Array, mode: str) -> Array:
    """A sum of f32, rounded as `mode` (rz, rm, rp) says."""
    exact = sum_to_odd(a.astype(np.float64), b.astype(np.float64))
    found = towards(a + b, exact, mode)
    if mode != "rm":
        return found
    # A number and its opposite: IEEE 754, section 6.3, has their zero below the other.
    below = (exact == 0) & (np.signbit(a) | np.signbit(b))
    return np.where(below, np.float32(-0.0), found)


def limited(values: Array) -> Array:
    """``.sat``: within 0 and 1; NaN and -0 are +0."""
    most = np.minimum(values, values.dtype.type(1))
    return np.where(values > 0, most, np.zeros_like(values))


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return total, np.where(np.isfinite(total), error, 0)


def _fused_double(a: Array, b: Array, c: Array) -> Array:
    a, b, c = np.broadcast_arrays(a, b, c)
    high, low = _two_product(a, b)
    total, error = _two_sum(high, c)
    plain = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, a * b + c)
    rest = sum_to_odd(error, low)
    summed = np.where(rest == 0, total, total + rest)  # a zero keeps its sign
    found = np.where(np.isfinite(low), summed, plain)
    near = _between(a, 480) & _between(b, 480) & _between(c, 900)
    for place in np.flatnonzero(
        ~near & np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    ):
        found[place] = _fused_exactly(float(a[place]), float(b[place]), float(c[place]))
    return found


def _between(a: Array, exponent: int) -> Array:
    """Whether no error of a product or sum of such numbers is lost at either end."""
    size = np.abs(a)
    return (a == 0) | ((size > 2.0**-exponent) & (size < 2.0**exponent))


def _fused_exactly(a: float, b: float, c: float) -> float:
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if not total:
        return a * b + c  # the sign of a zero
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Dekker's product: its rounding and the error of that."""
    product = a * b
    (a1, a2), (b1, b2) = _split(a), _split(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _split(a: Array) -> tuple[Array, Array]:
    scaled = a * np.float64(2**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high


def lesser(a: Array, b: Array) -> Array:
    """The minimum: a number beats NaN, -0 is below +0."""
    return np.where((a == 0) & (b == 0), -((-a) + (-b)), np.fmin(a, b))


def greater(a: Array, b: Array) -> Array:
    """The maximum: a number beats NaN, +0 is above -0."""
    return np.where((a == 0) & (b == 0), a + b, np.fmax(a, b))


def one_nan(values: Array) -> Array:
    """The NaN that arithmetic gives: all ones but for the sign; f64 keeps its own."""
    if values.dtype == np.float64:
        return values
    with np.errstate(invalid="ignore"):
        unknown = np.isnan(values)
    if not unknown.any():
        return values
    bits = np.array((1 << 8 * values.dtype.itemsize - 1) - 1)
    nan = bits.astype(f"u{values.dtype.itemsize}").view(values.dtype)
    return np.where(unknown, nan, values)


def or_nan(result: Array, *operands: Array) -> Array:
    """NaN where an operand is (``.NaN``)."""
    unknown = reduce(np.logical_or, map(np.isnan, operands))
    return np.where(unknown, np.array(np.nan, result.dtype), result)


# ------------------------------------------------------------------ conversion


def narrowed(a: Array, dtype: Any, mode: str = "rn") -> Array:
    """Floats as another type, rounded once, as `mode` (rn, rz, rm, rp) says."""
    # Other casts of f64 than numpy's go through f32, which would round before.
    direct = a.dtype.itemsize < _LONG or dtype in DIRECT
    found = (a if direct else _single_to_odd(a)).astype(dtype)
    return found if mode == "rn" else towards(found, a.astype(np.float64), mode)


def of_integers(a: Array, dtype: Any, mode: str = "rn") -> Array:
    """Integers as a float type, rounded once likewise."""
    if mode == "rn" and dtype in DIRECT:
        return a.astype(dtype)
    if a.dtype.itemsize < _LONG:
        return narrowed(a.astype(np.float64), dtype, mode)
    high = (a >> a.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (a & a.dtype.type(0xFFFFFFFF)).astype(np.float64)
    if dtype != np.float64:
        return narrowed(sum_to_odd(high, low), dtype, mode)
    total, error = _two_sum(high, low)
    return _stepped(total, error < 0, error > 0, mode)


_LONG = 8
"""Bytes of f64, and of integers that f64 has not all of."""


def _single_to_odd(a: Array) -> Array:
    """f64 as f32 that are exact, or have an odd last bit and lie on no tie."""
    near = a.astype(np.float32)
    bits, wide = near.view(np.int32), np.abs(near).astype(np.float64)
    toward = (np.abs(a) > wide).astype(np.int32) - (np.abs(a) < wide)
    return (bits + np.where(bits & 1, 0, toward)).astype(np.int32).view(np.float32)


def towards(values: Array, exact: Array, mode: str) -> Array:
    """What was rounded to the nearest, rounded as `mode` (rz, rm, rp) says instead."""
    wide = values.astype(np.float64)
    return _stepped(values, wide > exact, wide < exact, mode)


def _stepped(values: Array, above: Bools, below: Bools, mode: str) -> Array:
    """One step of the last place where values are on the wrong side of the exact one.

    Values have the sign of what they stand for, zeros too.
    """
    bits = values.view(f"i{values.dtype.itemsize}")
    negative = bits < 0
    wrong, outward = {
        "rz": (np.where(negative, below, above), np.False_),
        "rm": (above, negative),
        "rp": (below, ~negative),
    }[mode]
    step = np.where(outward, 1, -1).astype(bits.dtype)
    return np.where(wrong, bits + step, bits).view(values.dtype)
