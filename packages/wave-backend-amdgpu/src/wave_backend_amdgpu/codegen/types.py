"""Types and numbers in MLIR's spelling."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_core.types import DType


def vector(item: str, count: int) -> str:
    """The type of ``count`` elements; one is a scalar."""
    return item if count == 1 else f"vector<{count}x{item}>"


def number(value: float, dtype: DType) -> str:
    """A number as an attribute of ``dtype``."""
    if dtype.is_bool:
        return "true" if value else "false"
    if not dtype.is_float:
        return str(int(value))
    value = float(value)
    if math.isfinite(value):
        return repr(value) if "e" not in repr(value) else _decimal(value)
    return _special(value, dtype)


def _decimal(value: float) -> str:
    mantissa, _, exponent = repr(value).partition("e")
    point = mantissa if "." in mantissa else mantissa + ".0"
    return f"{point}e{exponent}"


_SPECIAL = {
    "f8e5m2": (0x7C, 0x7E),
    "f8e5m2fnuz": (0x7F, 0x80),
    "f8e4m3fn": (0x7E, 0x7F),
    "f8e4m3fnuz": (0x7F, 0x80),
}
"""Infinity, or the greatest number of a type without one; NaN."""

_FORMS = {"f64": "<d", "f32": "<f", "f16": "<e", "bf16": "<f"}


def _special(value: float, dtype: DType) -> str:
    """An infinity or NaN by its bits."""
    if dtype.name in _SPECIAL:
        infinity, nan = _SPECIAL[dtype.name]
        bits = nan if math.isnan(value) else infinity | (0x80 if value < 0 else 0)
    else:
        data = struct.pack(_FORMS[dtype.name], value)
        # The upper half of the f32 pattern is that of bf16.
        bits = int.from_bytes(data[-dtype.bytes :], "little")
    return f"0x{bits:0{2 * dtype.bytes}X}"
