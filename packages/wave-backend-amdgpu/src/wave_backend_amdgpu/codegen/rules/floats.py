"""Floats between widths: what computes natively, and what goes through f32."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.rules.small import is_small, small, whole
from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends.emission import element
from wave_core.types import DTYPES, DType

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter

F32 = DTYPES["f32"]
F16 = DTYPES["f16"]

SATURATING = {"f8e4m3fn": 448.0}
"""Types that clamp to their greatest value. Source: OCP 8-bit floating point
specification 1.0, section 5.2; torch converts so."""


EXTREMES = {"arith.maximumf": "maximum", "arith.minimumf": "minimum"}
"""Operations that lose NaN on their way through the compiler, by what does not."""


def extreme(emit: Emitter, which: str, one: str, other: str, kind: str) -> str:
    """The ``maximum`` or ``minimum``; NaN where either is NaN.

    The compiler turns ``arith.maximumf`` into the instruction that prefers numbers.
    """
    text = f"llvm.intr.{which}({one}, {other}) : ({kind}, {kind}) -> {kind}"
    return emit.builder.op(text)


def widened(emit: Emitter, name: str, dtype: DType, registers: int) -> str:
    """A narrow float as f32; any other as it is."""
    if not dtype.is_float or dtype.bits >= F32.bits:
        return name
    if is_small(dtype):
        return whole(emit, name, dtype, registers)[0]
    source, wide = (vector(element(d), registers) for d in (dtype, F32))
    return emit.builder.op(f"arith.extf {name} : {source} to {wide}")


def narrowed(emit: Emitter, name: str, dtype: DType, registers: int) -> str:
    """An f32 value rounded once to ``dtype``; f64 and f32 as they are."""
    if not dtype.is_float or dtype.bits >= F32.bits:
        return name
    if is_small(dtype):
        return small(emit, name, dtype, registers)
    source, narrow = (vector(element(d), registers) for d in (F32, dtype))
    limit = SATURATING.get(dtype.name)
    if limit is not None:
        high = emit.constant(limit, F32, registers)
        low = emit.constant(-limit, F32, registers)
        name = extreme(emit, "minimum", name, high, source)
        name = extreme(emit, "maximum", name, low, source)
    return emit.builder.op(f"arith.truncf {name} : {source} to {narrow}")


def compute_dtype(dtype: DType) -> DType:
    """The type to compute in: narrow floats are widened to f32, as torch does."""
    return F32 if dtype.is_float and dtype.bits < F32.bits else dtype
