"""Rows of conversions, of the steps of a division, and of sums with carry.

Semantics: CDNA3 ISA (2023) and RDNA4 ISA (2025), chapters "Vector ALU instructions".
"""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_emulator_amdgcn import floats
from wave_emulator_amdgcn.isa.bits import swapped
from wave_emulator_amdgcn.isa.vector import Row, table
from wave_emulator_amdgcn.operands import DTYPES

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Function

_U = np.uint32
_L = np.uint64


def rows() -> dict[str, Row]:
    """All rows by name."""
    return {**_conversions(), **_division(), **_carries()}


def _cast(dtype: type[np.generic]) -> Function:
    return lambda a: a.astype(dtype)


def _narrow(dtype: type[np.floating[Any]]) -> Function:
    """From float to float; numpy leaves NaNs of f16 signalling."""
    return lambda a: floats.quiet(a.astype(dtype))


def _saturate(dtype: Any) -> Function:
    return lambda a: floats.to_integer(a, dtype)


def both(function: Function) -> Function:
    """Bits of 16 of two operands, in one register."""

    def call(a: Array, b: Array) -> Array:
        low, high = (function(value).astype(np.uint32) for value in (a, b))
        return low | high << _U(16)

    return call


def _bits16(a: Array) -> Array:
    return a.view(np.uint16)


def _clipped(low: int, high: int, dtype: type[np.generic]) -> Function:
    return both(lambda a: _bits16(np.clip(a, low, high).astype(dtype)))


def _truncated(dtype: Any) -> Function:
    """Two integers, saturated."""
    to = _saturate(dtype)
    return both(lambda a: _bits16(to(a)))


def _norm(limit: int, low: float, dtype: Any) -> Function:
    def one(a: Array) -> Array:
        wide = np.nan_to_num(a.astype(np.float64))
        return np.rint(np.clip(wide, low, 1.0) * limit).astype(dtype).view(np.uint16)

    return both(one)


#: How numbers are converted, result before operand.
_NUMBERS: tuple[tuple[Callable[[Any], Function], str], ...] = (
    (_cast, "F32_I32 F32_U32 F64_I32 F64_U32 F64_F32 F32_F64 F16_U16 F16_I16"),
    (_cast, "I32_I16 U32_U16"),
    (_saturate, "U32_F32 I32_F32 U32_F64 I32_F64 U16_F16 I16_F16"),
    (_narrow, "F16_F32 F32_F16"),
)


def _conversions() -> dict[str, Row]:
    i32, f32, f64, two = np.int32, np.float32, np.float64, "f32 f32"
    found = {
        **table("i32", "f32", {
            "CVT_RPI_I32_F32": lambda a: (
                floats.to_integer(np.floor(a.astype(f64) + 0.5), i32)
            ),
            "CVT_FLR_I32_F32": lambda a: floats.to_integer(np.floor(a), i32),
        }),
        **table("f32", "u32", {
            "CVT_OFF_F32_I4": lambda a: (((a & _U(15)).astype(i32) ^ 8) - 8) / f32(16),
            **{f"CVT_F32_UBYTE{k}": _byte_to_float(k) for k in range(4)},
        }),
        **table("f32", "b16", {"CVT_F32_BF16": floats.bf16_to_f32}),
        **table("2f16", two, {
            "CVT_PK_F16_F32": both(lambda a: _bits16(_narrow(np.float16)(a))),
            "CVT_PKRTZ_F16_F32": both(floats.to_f16_rtz),
        }),
        **table("u32", two, {
            "CVT_PK_BF16_F32": both(floats.f32_to_bf16),
            "CVT_PK_I16_F32": _truncated(np.int16),
            "CVT_PK_U16_F32": _truncated(np.uint16),
            "CVT_PKNORM_I16_F32": _norm(32767, -1, np.int16),
            "CVT_PKNORM_U16_F32": _norm(65535, 0, np.uint16),
        }),
        **table("u32", "u32 u32", {"CVT_PK_U16_U32": _clipped(0, 65535, np.uint16)}),
        **table("u32", "i32 i32", {
            "CVT_PK_I16_I32": _clipped(-32768, 32767, np.int16),
        }),
    }  # fmt: skip
    for function, names in _NUMBERS:
        for name in names.split():
            out, kind = name.lower().split("_")
            found |= table(out, kind, {f"CVT_{name}": function(DTYPES[out])})
    return found


def _byte_to_float(k: int) -> Function:
    return lambda a: (a >> _U(8 * k) & _U(255)).astype(np.float32)


def _exponent_bits(a: Array) -> Array:
    if a.dtype == np.float32:
        return (a.view(np.uint32) >> _U(23) & _U(255)).astype(np.int64)
    return (a.view(np.uint64) >> _L(52) & _L(2047)).astype(np.int64)


def _div_scale(spread: int, shift: int, low: int) -> Function:
    """V_DIV_SCALE: S0 scaled so that the division neither overflows nor loses bits."""

    def call(value: Array, denominator: Array, numerator: Array) -> tuple[Array, Array]:
        dtype = value.dtype
        value, denominator, numerator = np.broadcast_arrays(
            value, denominator, numerator
        )
        tiny = np.finfo(dtype).tiny
        bits = f"u{dtype.itemsize}"
        is_denominator = value.view(bits) == denominator.view(bits)
        is_numerator = value.view(bits) == numerator.view(bits)
        difference = _exponent_bits(numerator) - _exponent_bits(denominator)
        up, down = (floats.ldexp(value, np.array(n, np.int32)) for n in (shift, -shift))
        # The manual's text says DENORM.f64 for f32 too, which no f32 can give; what
        # makes the division work is that the reciprocal is denormal in the type itself.
        small_reciprocal = np.isfinite(denominator) & (np.abs(1 / denominator) < tiny)
        quotient = np.abs(numerator / denominator)
        small_quotient = (quotient < tiny) & (numerator != 0)
        denormal = (np.abs(denominator) < tiny) & (denominator != 0)
        conditions = [
            (numerator == 0) | (denominator == 0), difference >= spread, denormal,
            small_reciprocal & small_quotient, small_reciprocal, small_quotient,
            _exponent_bits(numerator) <= low,
        ]  # fmt: skip
        if_denominator = np.where(is_denominator, up, value)
        # The manual's text scales up here too, which overflows; only scaling down,
        # undone by V_DIV_FMAS with VCC set, gives the quotient.
        if_denominator_down = np.where(is_denominator, down, value)
        if_numerator = np.where(is_numerator, up, value)
        nan = np.full(value.shape, np.nan, dtype)
        values = [nan, if_denominator, up, if_denominator_down, down, if_numerator, up]
        flags = [False, True, False, True, False, True, False]
        flag = np.select(conditions, [np.full(value.shape, f) for f in flags], False)
        return np.select(conditions, values, value), flag

    return call


def _div_fmas(a: Array, b: Array, c: Array, scale: Array) -> Array:
    """The manual's text says 2**32 and 2**64; what undoes V_DIV_SCALE is this."""
    up = _exponent_bits(c) > (127 if c.dtype == np.float32 else 1023)
    step = 64 if c.dtype == np.float32 else 128
    power = np.where(scale, np.where(up, step, -step), 0).astype(np.int32)
    return floats.fma_scaled(a, b, c, power)


_BITS_2_PI = 1201
"""How many bits of 2 / pi the machine holds."""


@cache
def _two_over_pi() -> int:
    """2 / pi in `_BITS_2_PI` bits behind the point, by Machin's formula."""
    one = 1 << _BITS_2_PI + 64

    def inverse_tangent(n: int) -> int:
        terms = range(1, 1200, 2)
        return sum((2 - k % 4) * (one // (k * n**k)) for k in terms)

    pi = 4 * (4 * inverse_tangent(5) - inverse_tangent(239))
    return (2 * one << _BITS_2_PI) // pi


def _trig_preop(value: Array, segment: Array) -> Array:
    """A window of 53 bits of 2 / pi, for the argument's exponent and a segment.

    The window is that of LLVM's constant folding; the manual's text shifts it away.
    """
    value, segment = np.broadcast_arrays(value, segment)
    exponent = _exponent_bits(value)
    shift = (segment & _U(31)).astype(np.int64) * 53 + np.maximum(exponent - 1077, 0)
    result = np.zeros(value.shape, np.float64)
    for first in np.unique(shift).tolist():
        bits = _two_over_pi() << first >> _BITS_2_PI - 53 & (1 << 53) - 1
        result[shift == first] = bits
    return np.ldexp(result, np.where(exponent >= 1968, 75, -53) - shift)


def _division() -> dict[str, Row]:
    f3, d3 = "f32 f32 f32", "f64 f64 f64"
    return {
        **table("f32 carry", f3, {"DIV_SCALE_F32": _div_scale(96, 64, 23)}),
        **table("f64 carry", d3, {"DIV_SCALE_F64": _div_scale(768, 128, 53)}),
        **table("f32", f3 + " vcc", {"DIV_FMAS_F32": _div_fmas}),
        **table("f64", d3 + " vcc", {"DIV_FMAS_F64": _div_fmas}),
        **table("f64", "f64 u32", {"TRIG_PREOP_F64": _trig_preop}, exact=True),
    }


def add_carry(a: Array, b: Array, c: Array | None = None) -> tuple[Array, Array]:
    """The sum of 32-bit integers, and whether it has a carry."""
    total = a.astype(_L) + b.astype(_L)
    if c is not None:
        total = total + c.astype(_L)
    return total.astype(np.uint32), total >> _L(32) != 0


def sub_borrow(a: Array, b: Array, c: Array | None = None) -> tuple[Array, Array]:
    """The difference of 32-bit integers, and whether it borrows."""
    total = a.astype(np.int64) - b.astype(np.int64)
    if c is not None:
        total = total - c.astype(np.int64)
    return total.astype(np.uint32), total < 0


def _mad64(dtype: Any) -> Function:
    """32 x 32 + 64 bits; the carry is what falls off the top."""

    def call(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        product = a.astype(dtype) * b.astype(dtype)
        total = product + c
        if dtype == np.uint64:
            return total, total < c
        # The carry is the top bit of the sum in 65 bits: its sign.
        overflow = ((product ^ total) & (c ^ total)) < 0
        return total, overflow ^ (total < 0)

    return call


def _carries() -> dict[str, Row]:
    out, two, wide = "u32 carry", "u32 u32", {"MAD_U64_U32": _mad64(np.uint64)}
    return {
        **table(out, two, {
            "ADD_CO_U32": add_carry, "SUB_CO_U32": sub_borrow,
            "SUBREV_CO_U32": swapped(sub_borrow),
        }),
        **table(out, two + " mask", {
            "ADDC_CO_U32": add_carry, "SUBB_CO_U32": sub_borrow,
            "SUBBREV_CO_U32": swapped(sub_borrow),
        }),
        **table("u64 carry", "u32 u32 u64", wide),
        **table("i64 carry", "i32 i32 i64", {"MAD_I64_I32": _mad64(np.int64)}),
    }  # fmt: skip
