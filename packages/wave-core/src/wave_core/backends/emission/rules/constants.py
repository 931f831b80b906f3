"""Constants, scalars and values that are functions of lane and register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.backends import lowers
from wave_core.backends.emission import element, gathered
from wave_core.backends.emission.elements import bind_element, converted
from wave_core.constraints.machine import REGISTER
from wave_core.ops.constant import ApplyExpr, LaneExpr, Scalar, Splat, argument_symbol
from wave_core.symbols import Expr

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission


@lowers(Splat)
def splat(op: Splat, emit: Emission) -> None:
    """A constant vector."""
    registers = emit.registers(op)
    emit.set(op, emit.constant(op.value, op.dtype, registers), registers)


@lowers(Scalar)
def scalar(op: Scalar, emit: Emission) -> None:
    """A constant, or an expression of uniform symbols."""
    if isinstance(op.value, Expr):
        emit.set(op, converted(emit, emit.expr(op.value), op.dtype), 1)
    else:
        emit.set(op, emit.constant(op.value, op.dtype), 1)


@lowers(LaneExpr)
def lane_expr(op: LaneExpr, emit: Emission) -> None:
    """One expression for each register."""
    registers = emit.registers(op)
    expr = emit.expr(op.expr)
    names = [
        converted(emit, expr.subs({REGISTER: register}), op.dtype)
        for register in range(registers)
    ]
    emit.set(op, gathered(emit, names, element(op.dtype)), registers)


@lowers(ApplyExpr)
def apply_expr(op: ApplyExpr, emit: Emission) -> None:
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
