"""Floats of any format, exact: bits to numbers and back, in plain Python.

Source: IEEE 754-2019; OFP8 rev 1.0; OCP MX 1.0; Noune et al. 2022 for FNUZ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    """``top`` says what the largest codes mean: ieee, nan, fnuz or finite."""

    exponent: int
    mantissa: int
    bias: int
    top: str = "ieee"

    @property
    def bits(self):
        return 1 + self.exponent + self.mantissa

    @property
    def sign(self):
        return 1 << (self.bits - 1)


F64 = Format(11, 52, 1023)
F32 = Format(8, 23, 127)
F16 = Format(5, 10, 15)
BF16 = Format(8, 7, 127)
FORMATS = {
    "f64": F64, "f32": F32, "f16": F16, "bf16": BF16,
    "fp8": Format(4, 3, 7, "nan"), "bf8": Format(5, 2, 15),
    "fp8_fnuz": Format(4, 3, 8, "fnuz"), "bf8_fnuz": Format(5, 2, 16, "fnuz"),
    "fp6": Format(2, 3, 1, "finite"), "bf6": Format(3, 2, 3, "finite"),
    "fp4": Format(2, 1, 1, "finite"),
}  # fmt: skip


def decode(form, code):
    """The number of a code as a Python float, which holds every format."""
    code = int(code) & ((1 << form.bits) - 1)
    sign = -1.0 if code & form.sign else 1.0
    magnitude = code & ~form.sign
    exponent, fraction = (
        magnitude >> form.mantissa,
        magnitude & (1 << form.mantissa) - 1,
    )
    full = (1 << form.exponent) - 1
    if form.top == "ieee" and exponent == full:
        return sign * math.inf if fraction == 0 else math.nan
    if form.top == "nan" and magnitude == form.sign - 1:
        return math.nan
    if form.top == "fnuz" and code == form.sign:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - form.bias - form.mantissa)
    whole = fraction | 1 << form.mantissa
    return sign * math.ldexp(whole, exponent - form.bias - form.mantissa)


def nan(form):
    """A code of NaN."""
    if form.top == "fnuz":
        return form.sign
    if form.top == "ieee":
        return ((1 << form.exponent + 1) - 1) << (form.mantissa - 1)
    return form.sign - 1


def largest(form):
    """The code of the largest number."""
    beyond = {"ieee": 1 << form.mantissa, "nan": 1}.get(form.top, 0)
    return form.sign - 1 - beyond


def encode(form, value, *, negative=False, clamp=False):
    """Round to nearest even; ``value`` a Fraction or a float, ``negative`` of zeros."""
    if isinstance(value, float):
        if math.isnan(value):
            return nan(form)
        negative = math.copysign(1, value) < 0
        if math.isinf(value):
            return _overflow(form, negative, clamp and form.top == "finite")
        value = Fraction(value)
    if value != 0:
        negative = value < 0
    code = _nearest(form, abs(value))
    if code > largest(form):
        return _overflow(form, negative, clamp)
    if form.top == "fnuz" and code == 0:
        return 0
    return code | (form.sign if negative else 0)


def _nearest(form, value):
    """The code of a magnitude as if exponents had no end."""
    if value == 0:
        return 0
    power = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** power > value:
        power -= 1
    power = max(power, 1 - form.bias)
    steps = value / Fraction(2) ** (power - form.mantissa)
    whole, rest = divmod(steps, 1)
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1):
        whole += 1
    # A whole number below 2**mantissa has exponent code 0, which power 1 - bias means.
    return ((power + form.bias - 1) << form.mantissa) + int(whole)


def _overflow(form, negative, clamp):
    sign = form.sign if negative else 0
    if clamp or form.top == "finite":
        return largest(form) | sign
    if form.top == "ieee":
        return ((1 << form.exponent) - 1) << form.mantissa | sign
    return form.sign if form.top == "fnuz" else form.sign - 1 | sign


def add(form, a, b):
    """The correctly rounded sum of two codes."""
    x, y = decode(form, a), decode(form, b)
    if not (math.isfinite(x) and math.isfinite(y)):
        return encode(form, x + y)
    total = Fraction(x) + Fraction(y)
    both = math.copysign(1, x) < 0 and math.copysign(1, y) < 0
    return encode(form, total, negative=both)


def same(form, got, want):
    """Equal codes; any NaN is as good as another."""
    if got == want:
        return True
    return math.isnan(decode(form, got)) and math.isnan(decode(form, want))


def special(form):
    """Zeros, denormals, ones, the largest number, infinities, NaNs, of both signs."""
    one = form.bias << form.mantissa
    codes = {0, 1, (1 << form.mantissa) - 1, 1 << form.mantissa, one, one + 1,
             largest(form), largest(form) - 1, nan(form) & ~form.sign,
             encode(form, math.inf) & ~form.sign}  # fmt: skip
    return sorted(codes | {code | form.sign for code in codes})
