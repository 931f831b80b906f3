"""Elements of registers in expressions, and expressions as elements of registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.backends.emission.instructions import I32, Kind
from wave_core.backends.emission.values import Value, element
from wave_core.symbols import Expr, symbol

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission
    from wave_core.types import DType


def as_index(emit: Emission, name: str, dtype: DType) -> tuple[str, int]:
    """An integer or truth value as a signed one of 32 or 64 bits, and how many."""
    positive = dtype.is_unsigned or dtype.is_bool
    width = 64 if dtype.bits + dtype.is_unsigned > 32 else 32
    if dtype.bits >= width:
        return name, width
    word, kind = "extui" if positive else "extsi", Kind(element(dtype))
    return emit.instructions.convert(word, kind, f"i{width}", name), width


def bind_element(emit: Emission, value: Value, register: int, dtype: DType) -> Expr:
    """A symbol for one element of an integer value.

    A vector of one element gives the same symbol for every register. The symbol is
    that of the outermost region in which the element was asked for; another loop, or
    what follows a loop, binds one of its own.
    """
    at = register if value.registers > 1 else 0
    make = emit.instructions
    text = f"$v:{value.name}:{at}"
    names = [f"{text}:{level}" for level in range(make.level + 1)]
    symbols = [symbol(name, nonnegative=False) for name in names]
    for level, found in enumerate(symbols):
        if make.holds(("element", found), level):
            return found
    stand_in, name = symbols[-1], value.name
    if value.registers > 1:
        name = make.extract(value.kind, name, at)
    name, width = as_index(emit, name, dtype)
    emit.indices.bind(stand_in, name, width, make.level)
    make.once(("element", stand_in), lambda: name, make.level)
    return stand_in


def converted(emit: Emission, expr: Expr, dtype: DType) -> str:
    """The value of an expression in an element type."""
    make, indices, item = emit.instructions, emit.indices, element(dtype)
    if dtype.is_bool:
        return indices.truth(expr)
    if expr.is_constant:
        return emit.constant(expr.constant_value, dtype)
    if dtype.is_float:
        width = indices.width(expr)
        name = indices.number(expr, width)
        return make.convert("sitofp", Kind(f"i{width}"), item, name)
    if dtype.bits == 64:
        return indices.number(expr, 64)
    name = indices.wrapped(expr)
    return name if dtype.bits == 32 else make.convert("trunci", I32, item, name)
