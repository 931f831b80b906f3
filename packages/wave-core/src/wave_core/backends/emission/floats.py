"""Floats between widths: what computes natively, and what goes through f32."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wave_core.backends.emission.instructions import Kind
from wave_core.backends.emission.small import FORMATS, is_small, small, whole
from wave_core.backends.emission.values import element
from wave_core.types import DTYPES, DType

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission

F32 = DTYPES["f32"]
F16 = DTYPES["f16"]

SATURATING = {"f8e4m3fn": 448.0}
"""Types that clamp to their greatest value. Source: OCP 8-bit floating point
specification 1.0, section 5.2; torch converts so."""


def widened(emit: Emission, name: str, dtype: DType, registers: int) -> str:
    """A narrow float as f32; any other as it is."""
    if not dtype.is_float or dtype.bits >= F32.bits:
        return name
    if is_small(emit, dtype):
        return whole(emit, name, dtype, registers)[0]
    kind = Kind(element(dtype), registers)
    return emit.instructions.convert("extf", kind, element(F32), name)


def narrowed(emit: Emission, name: str, dtype: DType, registers: int) -> str:
    """An f32 value rounded once to ``dtype``; f64 and f32 as they are."""
    if not dtype.is_float or dtype.bits >= F32.bits:
        return name
    make, kind = emit.instructions, Kind(element(F32), registers)
    limit = SATURATING.get(dtype.name)
    if limit is not None:
        high = emit.constant(limit, F32, registers)
        low = emit.constant(-limit, F32, registers)
        name = make.apply("minimumf", kind, name, high)
        name = make.apply("maximumf", kind, name, low)
    if is_small(emit, dtype):
        return small(emit, name, dtype, registers)
    return make.convert("truncf", kind, element(dtype), name)


def compute_dtype(dtype: DType) -> DType:
    """The type to compute in: narrow floats are widened to f32, as torch does."""
    return F32 if dtype.is_float and dtype.bits < F32.bits else dtype


def code_of(value: float, dtype: DType) -> int:
    """The bits of a number in a type of `FORMATS`, to nearest, ties to even."""
    row, sign = FORMATS[dtype.name], 1 << (dtype.bits - 1)
    if math.isnan(value):
        return row.nan
    size = min(abs(value), SATURATING.get(dtype.name, math.inf))
    least = 1 - row.bias
    exponent = max(math.frexp(size)[1] - 1, least) if size else least
    code = row.above
    if math.isfinite(size):
        # The first bit of the mantissa, which is not written, counts up the exponent.
        units = round(math.ldexp(size, row.mantissa - exponent))
        code = units + (exponent + row.bias - 1 << row.mantissa)
        code = row.above if code > row.greatest else code
    negative = math.copysign(1.0, value) < 0
    return code | sign if negative and (code or row.signs_zero) else code
