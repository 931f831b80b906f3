"""Arithmetic that numpy lacks: fused multiply-add, minimum of IEEE, small floats."""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array


def flush(value: Array) -> Array:
    """Denormals become zeros of the same sign."""
    tiny = np.finfo(value.dtype).tiny
    return np.where(
        np.abs(value) < tiny, np.copysign(value.dtype.type(0), value), value
    )


def round_to_odd_sum(product: Array, addend: Array) -> Array:
    """The sum of two f64, rounded to odd: rounding it again to less is then exact.

    Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008.
    """
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    bits = total.view(np.int64).copy() if total.ndim else total
    inexact = (error != 0) & np.isfinite(total) & (bits & 1 == 0)
    if inexact.any():
        step = np.where((error > 0) == (total > 0), 1, -1)
        bits = np.where(inexact, bits + step, bits)
    return bits.view(np.float64)


def fma(a: Array, b: Array, c: Array) -> Array:
    """A * b + c with one rounding, in the type of the operands."""
    if a.dtype == np.float64:
        return _fma64(*np.broadcast_arrays(a, b, c))
    wide = np.float64
    product = np.asarray(a.astype(wide) * b.astype(wide))
    total = round_to_odd_sum(*np.broadcast_arrays(product, c.astype(wide)))
    return total.astype(a.dtype)


def fma_scaled(a: Array, b: Array, c: Array, power: Array) -> Array:
    """(A * b + c) * 2**power with one rounding."""
    a, b, c, power = np.broadcast_arrays(a, b, c, power)
    if a.dtype != np.float64:
        product = np.asarray(a.astype(np.float64) * b.astype(np.float64))
        total = round_to_odd_sum(product, c.astype(np.float64))
        return np.ldexp(total, power).astype(a.dtype)
    result = np.ldexp(_fma64(a, b, c), power)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    edge = (np.abs(result) < np.finfo(np.float64).tiny) | np.isinf(result)
    for at in np.argwhere((power != 0) & finite & edge):
        lane = tuple(at)
        x, y, z = (Fraction(float(v[lane])) for v in (a, b, c))
        exact = (x * y + z) * Fraction(2) ** int(power[lane])
        result[lane] = _nearest(exact) if exact else result[lane]
    return result


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


_SPLIT = 134217729.0


def _halves(a: Array) -> tuple[Array, Array]:
    t = _SPLIT * a
    high = t - (t - a)
    return high, a - high


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _fma64(a: Array, b: Array, c: Array) -> Array:
    high = a * b
    ah, al = _halves(a)
    bh, bl = _halves(b)
    low = al * bl - (((high - ah * bh) - al * bh) - ah * bl)
    th, tl = _two_sum(c, low)
    vh, vl = _two_sum(high, th)
    result = vh + round_to_odd_sum(tl, vl)
    risky = ~_safe(a, b, c, high)
    if risky.any():
        result = np.where(risky, high + c, result)
        exact = [
            _exact_fma(*row) for row in zip(a[risky], b[risky], c[risky], strict=True)
        ]
        result[risky] = exact
    return result


def _safe(a: Array, b: Array, c: Array, product: Array) -> Array:
    """Exponents where the error-free transformations hold."""
    low, high = 2.0**-900, 2.0**900
    large = (np.abs(a) < high) & (np.abs(b) < high) & (np.abs(product) < high)
    small = (np.abs(product) > low) & (np.abs(a) > low) & (np.abs(b) > low)
    return large & small & (np.abs(c) < high) & ((np.abs(c) > low) | (c == 0))


def _exact_fma(a: float, b: float, c: float) -> float:
    a, b, c = float(a), float(b), float(c)
    if not (np.isfinite(a) and np.isfinite(b)):
        return a * b + c
    if not np.isfinite(c):
        return c + 0.0  # which makes a NaN quiet
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if total == 0:
        return a * b + c if (a == 0 or b == 0) else 0.0
    return _nearest(total)


_NO: Array = np.array(False)


def quiet(a: Array) -> Array:
    """Signalling NaNs become quiet; all else stays."""
    nan = np.isnan(a)
    if not nan.any():
        return a
    bits = a.view(f"u{a.dtype.itemsize}")
    return np.where(nan, bits | _quiet_bit(a), bits).view(a.dtype)


def _quiet_bit(a: Array) -> Array:
    bit = {2: 9, 4: 22, 8: 51}[a.dtype.itemsize]
    return np.array(1 << bit, f"u{a.dtype.itemsize}")


def _signalling(a: Array) -> Array:
    bits = a.view(f"u{a.dtype.itemsize}")
    return np.isnan(a) & (bits & _quiet_bit(a) == 0)


def _with_nans(a: Array, b: Array, picked: Array, *, ieee: Array) -> Array:
    """The result of V_MIN and V_MAX for NaNs; with IEEE a signalling one wins."""
    if not (np.isnan(a).any() or np.isnan(b).any()):
        return picked
    if ieee:
        picked = np.where(_signalling(b), b, picked)
        picked = np.where(_signalling(a), a, picked)
    return quiet(picked)


def _extremum(
    pick: Callable[[Array, Array], Array], *, low: bool
) -> Callable[..., Array]:
    """The minNum or maxNum: of a number and a NaN the number; -0 is below +0."""

    def call(a: Array, b: Array, ieee: Array = _NO) -> Array:
        picked = pick(a, b)
        zeros = (a == 0) & (b == 0)
        first = zeros & (np.signbit(a) == low)
        picked = np.where(first, a, np.where(zeros, b, picked))
        return _with_nans(a, b, picked, ieee=ieee)

    return call


minimum, maximum = _extremum(np.fmin, low=True), _extremum(np.fmax, low=False)


def _propagating(pick: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """Minimum or maximum of IEEE 754-2019: a NaN wins."""

    def call(a: Array, b: Array) -> Array:
        nan = np.isnan(a) | np.isnan(b)
        return np.where(nan, a.dtype.type(np.nan), pick(a, b))

    return call


propagating_minimum, propagating_maximum = _propagating(minimum), _propagating(maximum)


def median3(a: Array, b: Array, c: Array, ieee: Array = _NO) -> Array:
    """The middle one; with a NaN, the smallest number."""
    top = maximum(maximum(a, b), c)
    middle = np.where(
        top == a, maximum(b, c), np.where(top == b, maximum(a, c), maximum(a, b))
    )
    none = np.isnan(a) | np.isnan(b) | np.isnan(c)
    return np.where(none, minimum(minimum(a, b, ieee), c, ieee), middle).astype(a.dtype)


def ldexp(a: Array, n: Array) -> Array:
    """A * 2**n with one rounding."""
    steps = np.clip(n, -2200, 2200).astype(np.int32)
    if a.dtype == np.float64:
        return np.ldexp(a, steps)
    return np.ldexp(a.astype(np.float64), np.clip(steps, -700, 700)).astype(a.dtype)


def to_integer(a: Array, dtype: type[np.signedinteger | np.unsignedinteger]) -> Array:
    """Truncate and saturate; NaN is zero."""
    info = np.iinfo(dtype)
    wide = np.trunc(
        np.nan_to_num(a.astype(np.float64), nan=0.0, posinf=1e300, neginf=-1e300)
    )
    return np.clip(wide, info.min, info.max).astype(dtype)


def bf16_to_f32(a: Array) -> Array:
    """Widen the bits of bf16 (u16)."""
    return (a.astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(a: Array) -> Array:
    """Round to nearest even; NaN stays NaN."""
    bits = a.view(np.uint32)
    odd = bits >> np.uint32(16) & np.uint32(1)
    rounded = (bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)
    quiet = bits >> np.uint32(16) | np.uint32(0x40)
    return np.where(np.isnan(a), quiet, rounded).astype(np.uint16)


def to_f16_rtz(a: Array) -> Array:
    """Round f32 to f16 toward zero, as bits (u16)."""
    with np.errstate(over="ignore"):
        near = a.astype(np.float16)
    beyond = np.abs(near.astype(np.float64)) > np.abs(a.astype(np.float64))
    bits = near.view(np.uint16)
    bits = np.where(np.isnan(a), bits | np.uint16(0x200), bits)
    return np.where(beyond & ~np.isnan(a), bits - np.uint16(1), bits).astype(np.uint16)


#: Small floats: exponent bits, mantissa bits, bias, and what the top codes mean.
#: fp8, bf8 OCP: OFP8 rev 1.0; FNUZ: Noune et al. 2022; fp6, bf6, fp4: OCP MX 1.0.
_SMALL = {
    "fp8": (4, 3, 7, "nan"), "bf8": (5, 2, 15, "ieee"), "fp8_fnuz": (4, 3, 8, "fnuz"),
    "bf8_fnuz": (5, 2, 16, "fnuz"), "fp6": (2, 3, 1, "finite"),
    "bf6": (3, 2, 3, "finite"), "fp4": (2, 1, 1, "finite"),
}  # fmt: skip


@cache
def small_table(kind: str) -> Array:
    """The value of every code of a small float, as f32."""
    exponent_bits, mantissa_bits, bias, special = _SMALL[kind]
    bits = 1 + exponent_bits + mantissa_bits
    codes = np.arange(1 << bits)
    sign = np.where(codes >> (bits - 1), -1.0, 1.0)
    exponent = codes >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = (codes & (1 << mantissa_bits) - 1) / (1 << mantissa_bits)
    normal = (1 + mantissa) * 2.0 ** (exponent - bias)
    value = sign * np.where(exponent == 0, mantissa * 2.0 ** (1 - bias), normal)
    top = (1 << exponent_bits) - 1
    if special == "ieee":
        infinite = sign * np.inf
        value = np.where(
            exponent == top, np.where(mantissa == 0, infinite, np.nan), value
        )
    elif special == "nan":
        value[codes & 0x7F == 0x7F] = np.nan
    elif special == "fnuz":
        value[1 << (bits - 1)] = np.nan
    return value.astype(np.float32)


def to_small(value: Array, kind: str, *, clamp: bool) -> Array:
    """Round to a small float, nearest even; codes as u8.

    ``clamp`` gives the largest number where finite values overflow.
    """
    half = len(small_table(kind)) // 2
    finite, wide = small_table(kind)[:half], value.astype(np.float64)
    finite = finite[np.isfinite(finite)].astype(np.float64)
    magnitude = np.nan_to_num(np.minimum(np.abs(wide), finite[-1]))
    upper = np.clip(np.searchsorted(finite, magnitude), 0, len(finite) - 1)
    lower = np.maximum(upper - 1, 0)
    gap_up, gap_down = finite[upper] - magnitude, magnitude - finite[lower]
    low = (gap_down < gap_up) | ((gap_down == gap_up) & (lower % 2 == 0))
    code = np.where(low, lower, upper)
    # The code of an overflow is infinity, or NaN.
    top = {"fp8": 0x7F, "bf8": 0x7C}.get(kind, 0x80)
    code = np.where(_overflows(wide, finite, kind, clamp=clamp), top, code)
    sign = np.signbit(wide) & ~((code == 0) & kind.endswith("fnuz"))
    code = np.where(sign, code | half, code)
    nan = 0x80 if kind.endswith("fnuz") else half - 1
    return np.where(np.isnan(wide), nan, code).astype(np.uint8)


def _overflows(wide: Array, finite: Array, kind: str, *, clamp: bool) -> Array:
    """Values that round beyond the largest; with ``clamp`` only infinities."""
    if _SMALL[kind][3] == "finite":
        return np.zeros(wide.shape, np.bool_)
    if clamp:
        return np.isinf(wide)
    edge = finite[-1] + (finite[-1] - finite[-2]) / 2
    odd = len(finite) % 2 == 0
    return np.abs(wide) >= edge if odd else np.abs(wide) > edge


def div_fixup(quotient: Array, denominator: Array, numerator: Array) -> Array:
    """The last step of a division: signs and special values (ISA, V_DIV_FIXUP)."""
    dtype = quotient.dtype.type
    sign = np.signbit(denominator) ^ np.signbit(numerator)
    infinity = np.where(sign, dtype(-np.inf), dtype(np.inf))
    zero = np.where(sign, dtype(-0.0), dtype(0.0))
    result = np.where(sign, -np.abs(quotient), np.abs(quotient))
    big, nothing = np.isinf, (lambda v: v == 0)
    if dtype is not np.float16:
        # An overflow inside LLVM's sequence; the manual decides by exponents that
        # no finite operand reaches.
        result = np.where(np.isnan(quotient), infinity, result)
        result = np.where(_far_below(numerator, denominator), zero, result)
    result = np.where(big(denominator) | nothing(numerator), zero, result)
    result = np.where(nothing(denominator) | big(numerator), infinity, result)
    invalid = (nothing(denominator) & nothing(numerator)) | (
        big(denominator) & big(numerator)
    )
    result = np.where(invalid, dtype(np.nan), result)
    result = np.where(np.isnan(denominator), denominator, result)
    return quiet(np.where(np.isnan(numerator), numerator, result).astype(dtype))


def _far_below(numerator: Array, denominator: Array) -> Array:
    """The quotient is less than half of the least denormal, by its exponents."""
    mantissa, limit = (23, -150) if numerator.dtype == np.float32 else (52, -1075)
    kind = f"u{numerator.dtype.itemsize}"
    top, bottom = (
        (np.abs(v).view(kind) >> np.array(mantissa, kind)).astype(np.int64)
        for v in (numerator, denominator)
    )
    return top - bottom < limit
