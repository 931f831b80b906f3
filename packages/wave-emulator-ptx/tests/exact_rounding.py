"""Rounding by fractions: what a correctly rounded operation gives, independently."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

DIGITS = {2: (11, -24, 15), 4: (24, -149, 127), 8: (53, -1074, 1023)}
"""Digits, the exponent of the last subnormal bit and of the largest number."""


def rounded(value: Fraction, dtype: type) -> float:
    """The nearest number of a binary format, ties to even; infinite beyond it."""
    digits, least, most = DIGITS[np.dtype(dtype).itemsize]
    if not value:
        return 0.0
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    step = Fraction(2) ** max(exponent - digits + 1, least)
    found = round(magnitude / step) * step
    if found >= Fraction(2) ** (most + 1):
        return float("inf") if value > 0 else float("-inf")
    return float(found) if value > 0 else -float(found)


def fused(a: float, b: float, c: float, dtype: type) -> float | None:
    """``a * b + c``; None where a number is infinite or NaN, or the sum is zero."""
    if not np.isfinite([a, b, c]).all():
        return None
    total = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return rounded(total, dtype) if total else None
