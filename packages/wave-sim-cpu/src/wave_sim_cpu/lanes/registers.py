"""Ops on registers: constants, elementwise ops, renaming, moves between lanes."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from wave_core.constraints.machine import REGISTER
from wave_core.ops.arithmetic import FloorDiv, Mod
from wave_core.ops.constant import ApplyExpr, LaneExpr, Scalar, Splat, argument_symbol
from wave_core.ops.elementwise import convert
from wave_core.ops.shape import reinterpreted
from wave_core.symbols import Expr, Kind
from wave_sim_cpu import codes
from wave_sim_cpu.lanes.value import Poison, Value, join, spread, where

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.ops.compare import Select
    from wave_core.ops.reduce import Shuffle
    from wave_core.ops.shape import Assemble, Bitcast
    from wave_core.types import DType
    from wave_sim_cpu.arrays import Array, Bits, Index
    from wave_sim_cpu.expressions import Number
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.lanes.program import Program, Step


def splat(op: Splat, _program: Program) -> Step:
    """One number for all."""
    value = Value(np.asarray(op.evaluate()).reshape(1, 1, 1))

    def step(machine: Machine) -> None:
        machine.values[op.ident] = value

    return step


def scalar(op: Scalar, program: Program) -> Step:
    """A number, or an expression of uniform symbols."""
    if not isinstance(op.value, Expr):
        value = Value(np.asarray(op.evaluate()).reshape(1, 1, 1))
        return lambda machine: machine.values.__setitem__(op.ident, value)
    linear, dtype = program.linear(op.value), op.dtype

    def step(machine: Machine) -> None:
        machine.values[op.ident] = Value(_as(linear.array(machine.env, {}), dtype))

    return step


def _as(number: Number, dtype: DType) -> Array:
    array = np.asarray(number)
    return convert(array.reshape((1, 1, 1)) if array.ndim == 0 else array, dtype)


def lane_expr(op: LaneExpr, program: Program) -> Step:
    """An expression at every lane and register."""
    registers = program.registers(op)
    linear, dtype = program.linear(op.expr), op.dtype
    extra: dict[Expr, Number] = {REGISTER: np.arange(registers).reshape(1, 1, -1)}

    def step(machine: Machine) -> None:
        number = linear.array(machine.env, extra)
        machine.values[op.ident] = Value(_as(number, dtype))
        machine.counters.instructions["valu"] += machine.active_waves * registers

    return step


def apply_expr(op: ApplyExpr, program: Program) -> Step:
    """An expression of registers and uniform symbols."""
    linear, dtype = program.linear(op.expr), op.register_type.dtype
    symbols = [argument_symbol(i) for i in range(len(op.values))]
    divisors = [program.linear(d) for d in _divisors(op.expr, set(symbols))]
    operands = op.values
    registers = program.registers(op)

    def step(machine: Machine) -> None:
        values = [machine.value(v) for v in operands]
        extra: dict[Expr, Number] = {
            s: v.data.astype(np.int64, copy=False)
            for s, v in zip(symbols, values, strict=True)
        }
        poison = spread(values)
        for divisor in divisors:
            zero = np.asarray(divisor.array(machine.env, extra)) == 0
            poison = join(_division_poison(op, zero), poison)
        number = linear.array(machine.env, extra)
        machine.values[op.ident] = Value(_as(number, dtype), poison)
        machine.counters.instructions["valu"] += machine.active_waves * registers

    return step


def _divisors(expr: Expr, symbols: set[Expr]) -> set[Expr]:
    """The divisors in an expression that depend on ``symbols``."""
    found: set[Expr] = set()
    for arg in expr.args:
        found |= _divisors(arg, symbols)
    if expr.kind is Kind.FLOORDIV and not symbols.isdisjoint(expr.args[1].free_symbols):
        found.add(expr.args[1])
    return found


def elementwise(op: Op, program: Program) -> Step:
    """The op's own meaning, on the registers of all lanes."""
    operands = op.operands
    registers = program.registers(op)
    divides = isinstance(op, (FloorDiv, Mod)) and op.register_type.dtype.is_integer

    def step(machine: Machine) -> None:
        values = [machine.value(v) for v in operands]
        poison = spread(values)
        if divides:
            poison = join(_division_poison(op, values[1].data == 0), poison)
        data = np.asarray(op.evaluate(*[v.data for v in values]))
        machine.values[op.ident] = Value(data, poison)
        machine.counters.instructions["valu"] += machine.active_waves * registers

    return step


def select(op: Select, program: Program) -> Step:
    """The chosen registers; poison that is not chosen does not matter."""
    registers = program.registers(op)

    def step(machine: Machine) -> None:
        condition = machine.value(op.condition)
        yes, no = machine.value(op.on_true), machine.value(op.on_false)
        chosen = where(condition.data, yes, no)
        if condition.poison is not None:
            chosen.poison = join(condition.poison, chosen.poison)
        machine.values[op.ident] = chosen
        machine.counters.instructions["valu"] += machine.active_waves * registers

    return step


def _division_poison(op: Op, zero: Bits) -> Poison | None:
    """Quotients by zero have no meaning; it matters only if they are used."""
    if not zero.any():
        return None
    return Poison(zero, op, codes.DIVISION_BY_ZERO, "this divides by zero")


def assemble(op: Assemble, _program: Program) -> Step:
    """Registers renamed: no instruction."""
    sources = op.sources
    picks = np.array(op.picks, np.int64).reshape(-1, 2)
    targets = [np.flatnonzero(picks[:, 0] == part) for part in range(len(sources))]
    origins = [picks[target, 1] for target in targets]

    def gathered(parts: Sequence[Array]) -> Array:
        if len(parts) == 1:
            return _registers(parts[0], origins[0])
        shape = np.broadcast_shapes(*[(*p.shape[:2], 1) for p in parts])
        found = np.empty((*shape[:2], len(picks)), parts[0].dtype)
        for part, target, origin in zip(parts, targets, origins, strict=True):
            if target.size:
                found[..., target] = _registers(part, origin)
        return found

    def step(machine: Machine) -> None:
        values = [machine.value(v) for v in sources]
        poison = next((v.poison for v in values if v.poison is not None), None)
        if poison is not None:
            clean = np.zeros((1, 1, 1), np.bool_)
            bits = [clean if v.poison is None else v.poison.bits for v in values]
            poison = poison.of(gathered(bits))
        data = gathered([v.data for v in values])
        machine.values[op.ident] = Value(data, poison)

    return step


def bitcast(op: Bitcast, program: Program) -> Step:
    """Registers cut or joined; what has a part of a poisoned one is poison."""
    kind, registers = op.value.register_type.dtype, program.registers(op.value)
    count = program.registers(op)

    def step(machine: Machine) -> None:
        value = machine.value(op.value)
        data, poison = value.data, value.poison
        full = np.broadcast_to(data, (*data.shape[:2], registers))
        if poison is not None:
            bits = np.broadcast_to(poison.bits, (*poison.bits.shape[:2], registers))
            parts = lcm(registers, count)
            spoiled = bits.repeat(parts // registers, axis=2)
            spoiled = spoiled.reshape(*spoiled.shape[:2], count, -1)
            poison = poison.of(np.asarray(spoiled.any(axis=3)))
        found = reinterpreted(full, kind, op.dtype)
        machine.values[op.ident] = Value(found, poison)

    return step


def _registers(data: Array, picks: Array) -> Array:
    """The picked registers; one register stands for all."""
    if data.shape[2] == 1:
        return np.broadcast_to(data, (*data.shape[:2], picks.size))
    return data.take(picks, axis=2)


def shuffle(op: Shuffle, program: Program) -> Step:
    """Every lane receives its partner's registers."""
    lanes = program.geometry.lanes
    partner = np.array([op.partner(lane) for lane in range(lanes)])
    registers = program.registers(op)

    def moved(data: Array) -> Array:
        return data if data.shape[1] == 1 else data.take(partner, axis=1)

    def step(machine: Machine) -> None:
        value = machine.value(op.value).rearranged(moved)
        value.poison = join(_absent(op, machine.active, partner), value.poison)
        machine.values[op.ident] = value
        machine.counters.instructions["shuffle"] += machine.active_waves * registers

    return step


def _absent(op: Shuffle, active: Bits | None, partner: Index) -> Poison | None:
    """The lanes that read from one which is not there: it has no value to give."""
    if active is None or active.shape[1] == 1:
        return None
    bits = active & ~active.take(partner, axis=1)
    if not bits.any():
        return None
    return Poison(bits, op, codes.ABSENT_LANE, "reads a lane that is not here")
