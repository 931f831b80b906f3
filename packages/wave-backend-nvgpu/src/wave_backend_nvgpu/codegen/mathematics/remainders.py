"""The exact remainder of a division of floats, on f64."""

from __future__ import annotations

import math

from wave_backend_nvgpu.codegen.mathematics.number import written
from wave_core.backends.mathematics.exponentials import scaled
from wave_core.backends.mathematics.number import F64, Number

_FRACTION = (1 << 52) - 1
_STEP = 11
"""Bits by which a remainder of 53 can be shifted in 64."""


def remf(value: Number, divisor: Number) -> Number:
    """What is left of ``value``, with its sign: long division of the mantissas."""
    size, below = value.size, divisor.size
    (power, mantissa), (least, unit) = _parts(size), _parts(below)
    safe = unit.equals(0).choose(1, unit)

    def step(rest: Number, left: Number) -> tuple[Number, Number]:
        shift = left.less(_STEP).choose(left, _STEP)
        return (rest << shift).rest(safe), left - shift

    rest = written(value).repeat((mantissa.rest(safe), power - least), step)
    exact = scaled(rest.to_float_unsigned(F64), (least - 1075).to_float(F64))
    result = size.less(below).choose(size, exact).signed_as(value)
    bad = divisor.equals(0.0) | size.equals(math.inf) | value.is_nan | divisor.is_nan
    return bad.choose(math.nan, result)


def _parts(size: Number) -> tuple[Number, Number]:
    """Exponent field, at least 1, and the mantissa as an integer."""
    bits = size.bits
    field, fraction = bits >> 52, bits & _FRACTION
    low = field.equals(0)
    mantissa = low.choose(fraction, fraction | (1 << 52))
    return low.choose(1, field), mantissa
