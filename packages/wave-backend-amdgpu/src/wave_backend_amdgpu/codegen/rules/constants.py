"""Constants, scalars and values that are functions of lane and register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.symbols import as_index
from wave_backend_amdgpu.codegen.types import Value, element, vector
from wave_core.backends import lowers
from wave_core.constraints.machine import REGISTER
from wave_core.ops.constant import ApplyExpr, LaneExpr, Scalar, Splat, argument_symbol
from wave_core.symbols import Expr, symbol

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_core.types import DType


@lowers(Splat)
def splat(op: Splat, emit: Emitter) -> None:
    """A constant vector."""
    registers = emit.registers(op)
    emit.set(op, emit.constant(op.value, op.dtype, registers), registers)


@lowers(Scalar)
def scalar(op: Scalar, emit: Emitter) -> None:
    """A constant, or an expression of uniform symbols."""
    if isinstance(op.value, Expr):
        emit.set(op, converted(emit, emit.expr(op.value), op.dtype), 1)
    else:
        emit.set(op, emit.constant(op.value, op.dtype), 1)


@lowers(LaneExpr)
def lane_expr(op: LaneExpr, emit: Emitter) -> None:
    """One expression for each register."""
    registers = emit.registers(op)
    expr = emit.expr(op.expr)
    names = [
        converted(emit, expr.subs({REGISTER: register}), op.dtype)
        for register in range(registers)
    ]
    emit.set(op, gathered(emit, names, element(op.dtype)), registers)


@lowers(ApplyExpr)
def apply_expr(op: ApplyExpr, emit: Emitter) -> None:
    """The expression for each register, over the elements of the operands."""
    registers = emit.registers(op)
    values = [emit.value(value) for value in op.values]
    expr, dtype = emit.expr(op.expr), emit.dtype(op)
    names: list[str] = []
    for register in range(registers):
        bound: dict[Expr, Expr] = {}
        for position, value in enumerate(values):
            source = op.values[position]
            stand_in = bind_element(emit, value, register, emit.dtype(source))
            bound[argument_symbol(position)] = stand_in
        names.append(converted(emit, expr.subs(bound), dtype))
    emit.set(op, gathered(emit, names, element(dtype)), registers)


def bind_element(emit: Emitter, value: Value, register: int, dtype: DType) -> Expr:
    """A symbol for one element of an integer value.

    A vector of one element gives the same symbol for every register. The symbol is
    that of the outermost block in which the element was asked for; another loop, or
    what follows a loop, binds one of its own.
    """
    at = register if value.registers > 1 else 0
    builder = emit.builder
    text = f"$v:{value.name[1:]}:{at}"
    names = [f"{text}:{level}" for level in range(builder.level + 1)]
    symbols = [symbol(name, nonnegative=False) for name in names]
    for found, block in zip(symbols, builder.blocks, strict=True):
        if ("element", found) in block.memo:
            return found
    stand_in = symbols[-1]
    name = value.name
    if value.registers > 1:
        name = builder.op(
            f"vector.extract {name}[{at}] : {value.item} from {value.type}"
        )
    name, width = as_index(emit, name, dtype)
    emit.indices.bind(stand_in, name, width, builder.level)
    builder.blocks[-1].memo["element", stand_in] = name
    return stand_in


def converted(emit: Emitter, expr: Expr, dtype: DType) -> str:
    """The value of an expression in an element type."""
    builder = emit.builder
    if dtype.is_bool:
        return emit.indices.truth(expr)
    if expr.is_constant:
        return emit.constant(expr.constant_value, dtype)
    if dtype.is_float:
        width = emit.indices.width(expr)
        name = emit.indices.number(expr, width)
        return builder.op(f"arith.sitofp {name} : i{width} to {element(dtype)}")
    if dtype.bits == 64:
        return emit.indices.number(expr, 64)
    name = emit.indices.wrapped(expr)
    if dtype.bits == 32:
        return name
    return builder.op(f"arith.trunci {name} : i32 to {element(dtype)}")


def gathered(emit: Emitter, names: list[str], item: str) -> str:
    """A vector of scalars."""
    if len(names) == 1:
        return names[0]
    kind = vector(item, len(names))
    if len(set(names)) == 1:
        return emit.builder.op(f"vector.broadcast {names[0]} : {item} to {kind}")
    return emit.builder.op(f"vector.from_elements {', '.join(names)} : {kind}")
