"""Rounding by fractions: what a correctly rounded operation gives, independently."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


@dataclass(frozen=True)
class Format:
    """A binary format.

    Attributes:
        digits: of its numbers, the first one included.
        least: the exponent of the last bit of subnormal numbers.
        top: the largest number.
    """

    digits: int
    least: int
    top: Fraction


def _format(digits: int, least: int, most: int) -> Format:
    """One whose exponents end at `most`, and whose largest number is all ones."""
    top = Fraction(2) ** (most + 1) - Fraction(2) ** (most + 1 - digits)
    return Format(digits, least, top)


FORMATS = {
    "f16": _format(11, -24, 15),
    "bf16": _format(8, -133, 127),
    "f32": _format(24, -149, 127),
    "f64": _format(53, -1074, 1023),
    "e5m2": _format(3, -16, 15),
    "e4m3": Format(4, -9, Fraction(448)),
}
"""Sources: section 5.2 of the PTX ISA, IEEE 754, and the Open Compute Project's 8-bit
formats."""

STEPS = {
    "rn": round,  # of fractions: ties to even
    "rz": math.trunc,
    "rm": math.floor,
    "rp": math.ceil,
}


def on_grid(value: Fraction, form: Format, mode: str = "rn") -> float:
    """The number of a format for a value; what is beyond the largest has no end.

    Zero is positive, so that its sign is for the caller to give.
    """
    if not value:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    step = Fraction(2) ** max(exponent - form.digits + 1, form.least)
    found = STEPS[mode](value / step) * step
    if abs(found) <= form.top:
        return float(found)
    inward = mode == "rz" or mode == ("rm" if value > 0 else "rp")
    return math.copysign(form.top if inward else math.inf, 1 if value > 0 else -1)


def rounded(value: Fraction, dtype: type) -> float:
    """The nearest number of f16, f32 or f64, ties to even; infinite beyond it."""
    return on_grid(value, FORMATS[f"f{8 * np.dtype(dtype).itemsize}"])


def fused(a: float, b: float, c: float, dtype: type) -> float | None:
    """``a * b + c``; None where a number is infinite or NaN, or the sum is zero."""
    if not np.isfinite([a, b, c]).all():
        return None
    total = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return rounded(total, dtype) if total else None
