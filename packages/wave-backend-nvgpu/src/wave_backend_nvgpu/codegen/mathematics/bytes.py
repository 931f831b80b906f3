"""Floats of 8 bits as f32, and back; no instruction of all chips converts them."""

from __future__ import annotations

from dataclasses import dataclass

from wave_core.backends.mathematics.number import F32, I8, I32, Number

_MANTISSA, _BIAS = 23, 127
"""Of f32."""

_INFINITY = 0x7F800000


@dataclass(frozen=True, slots=True)
class Format:
    """Bits of the mantissa, the exponent of one, and the codes above all numbers.

    Attributes:
        greatest: The code of the greatest number.
        above: That of what is too large, and of infinity.
        nan: A code of NaN; those above ``greatest`` are NaN but for ``above``.
        has_zeros: Whether there is a zero with a sign; else its code is NaN's.
    """

    mantissa: int
    bias: int
    greatest: int
    above: int
    nan: int
    has_zeros: bool = True

    @property
    def step(self) -> float:
        """The distance of numbers around 0."""
        return 2.0 ** (1 - self.bias - self.mantissa)


FORMATS = {
    "f8E5M2": Format(2, 15, 0x7B, 0x7C, 0x7E),
    "f8E4M3FN": Format(3, 7, 0x7E, 0x7F, 0x7F),
    "f8E5M2FNUZ": Format(2, 16, 0x7F, 0x80, 0x80, has_zeros=False),
    "f8E4M3FNUZ": Format(3, 8, 0x7F, 0x80, 0x80, has_zeros=False),
}
"""Source: OCP 8-bit floating point specification 1.0, section 5; the last two: Noune
et al., 8-bit numerical formats for deep neural networks (2022)."""


def to_f32(code: Number, form: Format) -> Number:
    """The number of a code."""
    wide = code.extended(I32)
    size = wide & 0x7F
    small = size.less(1 << form.mantissa)
    exponents = (_BIAS - form.bias) << _MANTISSA
    bits = (size << (_MANTISSA - form.mantissa)) + exponents
    steps = (size.to_float(F32) * form.step).bits
    bits = small.choose(steps, bits)
    if form.has_zeros:
        above = size.equals(form.above) if form.above != form.nan else None
        bits = size.greater(form.greatest).choose(0x7FC00000, bits)
        bits = bits if above is None else above.choose(_INFINITY, bits)
        return (bits | ((wide & 0x80) << 24)).as_float(F32)
    bits = bits | ((wide & 0x80) << 24)
    return wide.equals(form.nan).choose(0x7FC00000, bits).as_float(F32)


def of_f32(value: Number, form: Format) -> Number:
    """The code of a number, rounded to nearest even."""
    bits = value.bits
    size, dropped = bits & 0x7FFFFFFF, _MANTISSA - form.mantissa
    odd = (size >> dropped) & 1
    rounded = (size + odd + ((1 << (dropped - 1)) - 1)) >> dropped
    code = rounded - ((_BIAS - form.bias) << form.mantissa)
    # Around 0 an addition rounds to whole steps.
    magic = form.step * 2.0**_MANTISSA
    steps = (size.as_float(F32) + magic).bits - value.body.constant(magic, F32).bits
    first = (_BIAS + 1 - form.bias) << _MANTISSA
    code = size.less(first).choose(steps, code)
    code = code.greater(form.greatest).choose(form.above, code)
    code = size.greater(_INFINITY).choose(form.nan, code)
    sign = (bits >> 24) & 0x80
    if form.has_zeros:
        return (code | sign).truncated(I8)
    signed = code.equals(0).choose(code, code | sign)
    return signed.truncated(I8)
