"""Items and numbers in LLVM's spelling."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.mathematics.bytes import FORMATS
from wave_core.backends.emission import element

if TYPE_CHECKING:
    from wave_core.backends.emission.instructions import Kind
    from wave_core.types import DType

SCALARS = {
    "f64": "double",
    "f32": "float",
    "f16": "half",
    "bf16": "bfloat",
    **dict.fromkeys(("f8E5M2", "f8E5M2FNUZ", "f8E4M3FN", "f8E4M3FNUZ"), "i8"),
    "f8E8M0FNU": "i8",
    "f6E2M3FN": "i6",
    "f6E3M2FN": "i6",
    "f4E2M1FN": "i4",
}
"""By item: floats that LLVM does not know are their bits."""

PACKED = {"f4E2M1FN": (1, 1, 7), "f6E2M3FN": (3, 1, 31), "f6E3M2FN": (2, 3, 31)}
"""Bits of the mantissa, the exponent of one, and the code of the greatest number.
Source: OCP microscaling formats specification 1.0, section 5.3."""


def scalar(item: str) -> str:
    """The type of one element."""
    return SCALARS.get(item, item)


def typed(kind: Kind) -> str:
    """The type of a value."""
    one = scalar(kind.item)
    return one if kind.registers == 1 else f"<{kind.registers} x {one}>"


def number(value: float, dtype: DType) -> str:
    """A number as LLVM reads it; integers wrap."""
    if dtype.is_bool:
        return "true" if value else "false"
    if not dtype.is_float:
        half = 1 << (dtype.bits - 1)
        return str((int(value) + half) % (2 * half) - half)
    return _float(float(value), dtype)


def _float(value: float, dtype: DType) -> str:
    item = element(dtype)
    if item == "f64":
        return f"0x{_bits('<d', value):016X}"
    if item == "f32":
        return f"0x{_bits('<d', _rounded('<f', value)):016X}"
    if item == "f16":
        return f"0xH{_bits('<e', _rounded('<e', value)):04X}"
    if item == "bf16":
        return f"0xR{_bf16(value):04X}"
    return str(_code(value, item))


def _rounded(form: str, value: float) -> float:
    """The nearest number of a form; infinity where it is too large."""
    try:
        return struct.unpack(form, struct.pack(form, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _bits(form: str, value: float) -> int:
    return int.from_bytes(struct.pack(form, value), "little")


def _bf16(value: float) -> int:
    bits = _bits("<f", _rounded("<f", value))
    if math.isnan(value):
        return bits >> 16 | 0x40
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def _code(value: float, item: str) -> int:
    """The code of the nearest small float; of two the even one."""
    if item == "f8E8M0FNU":
        return _power(value)
    sign = math.copysign(1.0, value) < 0
    if item in FORMATS:
        form = FORMATS[item]
        mantissa, bias, greatest, top = form.mantissa, form.bias, form.greatest, 0x80
        if math.isnan(value):
            return form.nan
        if math.isinf(value):
            return form.above | sign * top
    else:
        mantissa, bias, greatest = PACKED[item]
        top = greatest + 1
        value = float(greatest) if math.isnan(value) else value
    codes = range(greatest + 1)
    size = abs(value)
    nearest = min(
        codes, key=lambda code: (abs(_value(code, mantissa, bias) - size), code & 1)
    )
    has_sign = sign and (nearest > 0 or item not in FORMATS or FORMATS[item].has_zeros)
    return nearest | has_sign * top


def _power(value: float) -> int:
    """The code of a power of two."""
    if math.isnan(value) or value <= 0:
        return 0xFF if math.isnan(value) else 0
    return max(0, min(254, round(math.log2(min(value, 2.0**127))) + 127))


def _value(code: int, mantissa: int, bias: int) -> float:
    field, rest = code >> mantissa, code & ((1 << mantissa) - 1)
    if not field:
        return math.ldexp(rest, 1 - bias - mantissa)
    return math.ldexp((1 << mantissa) + rest, field - bias - mantissa)
