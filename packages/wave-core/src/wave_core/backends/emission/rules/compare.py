"""Comparisons, selection, conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.backends import lowers
from wave_core.backends.emission import Kind, element
from wave_core.backends.emission.floats import F32, narrowed, widened
from wave_core.backends.emission.small import small, whole
from wave_core.ops.compare import COMPARISONS, Cast, Comparison, Select
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission
    from wave_core.types import DType

_FLOAT = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_INTEGER = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED = {name: text.replace("s", "u", 1) for name, text in _INTEGER.items()}
_NATIVE = frozenset({"f16", "f32", "f64"})


@lowers(*COMPARISONS)
def compare(op: Comparison, emit: Emission) -> None:
    """False where either is NaN, but for ``ne``."""
    registers, dtype = emit.registers(op), emit.dtype(op.lhs)
    one, other = (emit.spread(emit.value(v), registers) for v in (op.lhs, op.rhs))
    if dtype.is_float and dtype.name not in _NATIVE:
        one = widened(emit, one, dtype, registers)
        other = widened(emit, other, dtype, registers)
        dtype = F32
    integers = _UNSIGNED if dtype.is_unsigned else _INTEGER
    predicate = (_FLOAT if dtype.is_float else integers)[op.op_name]
    kind = Kind(element(dtype), registers)
    emit.set(op, emit.instructions.compare(predicate, kind, one, other), registers)


@lowers(Select)
def select(op: Select, emit: Emission) -> None:
    """One of two values, element by element."""
    registers = emit.registers(op)
    condition = emit.value(op.condition)
    names = [emit.spread(emit.value(v), registers) for v in (op.on_true, op.on_false)]
    kind, tests = Kind(element(emit.dtype(op)), registers), condition.registers
    name = emit.instructions.select(condition.name, kind, *names, tests=tests)
    emit.set(op, name, registers)


@lowers(Cast)
def cast(op: Cast, emit: Emission) -> None:
    """As torch converts: narrow floats through f32, integers wrap."""
    value = emit.value(op.value)
    source, wanted = emit.dtype(op.value), op.dtype
    name = convert(emit, value.name, source, wanted, value.registers)
    emit.set(op, name, value.registers)


def convert(
    emit: Emission, name: str, source: DType, wanted: DType, registers: int
) -> str:
    """The elements of ``name`` in another element type."""
    if element(source) == element(wanted):
        return name
    if source.is_packed:
        name, source = whole(emit, name, source, registers)
        return convert(emit, name, source, wanted, registers)
    if wanted.is_packed and wanted.is_integer:
        name = convert(emit, name, source, DTYPES["i32"], registers)
        return small(emit, name, wanted, registers)
    if wanted.is_bool:
        return _truth(emit, name, source, registers)
    if source.is_float and wanted.is_float:
        return _float(emit, name, source, wanted, registers)
    if source.is_float:
        wide = widened(emit, name, source, registers)
        source = source if source.bits >= F32.bits else F32
        word = "fptoui" if wanted.is_unsigned else "fptosi"
        return _converted(emit, word, wide, source, wanted, registers)
    if wanted.is_float:
        middle = wanted if wanted.bits >= F32.bits else F32
        word = "uitofp" if source.is_bool or source.is_unsigned else "sitofp"
        wide = _converted(emit, word, name, source, middle, registers)
        return narrowed(emit, wide, wanted, registers)
    wider = "extui" if source.is_bool or source.is_unsigned else "extsi"
    word = "trunci" if wanted.bits < source.bits else wider
    return _converted(emit, word, name, source, wanted, registers)


def _converted(
    emit: Emission, word: str, name: str, source: DType, wanted: DType, registers: int
) -> str:
    kind = Kind(element(source), registers)
    return emit.instructions.convert(word, kind, element(wanted), name)


def _float(
    emit: Emission, name: str, source: DType, wanted: DType, registers: int
) -> str:
    name = widened(emit, name, source, registers)
    wide = source if source.bits >= F32.bits else F32
    if wanted.bits >= F32.bits:
        if wide == wanted:
            return name
        word = "extf" if wanted.bits > wide.bits else "truncf"
        return _converted(emit, word, name, wide, wanted, registers)
    if wide != F32:
        name = _converted(emit, "truncf", name, wide, F32, registers)
    return narrowed(emit, name, wanted, registers)


def _truth(emit: Emission, name: str, source: DType, registers: int) -> str:
    """Whether an element differs from zero; NaN does."""
    name = widened(emit, name, source, registers)
    if source.is_float and source.bits < F32.bits:
        source = F32
    zero = emit.constant(0, source, registers)
    kind, predicate = (
        Kind(element(source), registers),
        "une" if source.is_float else "ne",
    )
    return emit.instructions.compare(predicate, kind, name, zero)
