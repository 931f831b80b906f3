"""Arithmetic and mathematics, element by element.

f16 adds, subtracts and multiplies natively: rounding the f32 result of these once
more gives the same (Figueroa 1995: 24 bits are at least twice 11 plus 2). Everything
else in a narrow float goes through f32 and is rounded once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.rules.divisions import (
    float_floordiv,
    float_mod,
    integer_floordiv,
    integer_mod,
)
from wave_backend_amdgpu.codegen.rules.floats import (
    EXTREMES,
    F16,
    compute_dtype,
    extreme,
    narrowed,
    widened,
)
from wave_backend_amdgpu.codegen.types import element, vector
from wave_core.backends import lowers
from wave_core.ops import arithmetic as ops

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_core.ops.base import Op
    from wave_core.ops.elementwise import Binary, Unary
    from wave_core.types import DType

_FLOAT = {
    "powf": "math.powf",
    "add": "arith.addf",
    "sub": "arith.subf",
    "mul": "arith.mulf",
    "div": "arith.divf",
    "maximum": "arith.maximumf",
    "minimum": "arith.minimumf",
    "neg": "arith.negf",
    "abs": "math.absf",
    "exp": "math.exp",
    "exp2": "math.exp2",
    "sqrt": "math.sqrt",
    "rsqrt": "math.rsqrt",
    "log": "math.log",
    "log2": "math.log2",
    "log10": "math.log10",
    "round": "math.roundeven",
    "roundeven": "math.roundeven",
    "floor": "math.floor",
    "ceil": "math.ceil",
    "sin": "math.sin",
    "cos": "math.cos",
    "sinh": "math.sinh",
    "tanh": "math.tanh",
    "tanh_approx": "math.tanh",
    "cbrt": "math.cbrt",
}

_INTEGER = {
    "add": "arith.addi",
    "sub": "arith.subi",
    "mul": "arith.muli",
    "and": "arith.andi",
    "or": "arith.ori",
    "xor": "arith.xori",
    "maximum": "arith.maxsi",
    "minimum": "arith.minsi",
    "abs": "math.absi",
}

_NATIVE_F16 = frozenset({"add", "sub", "mul", "neg", "abs"})

_FAST = {"exp2": "rocdl.exp2"}
"""Bare instructions, without the handling of denormals around them."""


class Operands:
    """The operands of one op, made alike and wide enough to compute with.

    All have the element type of the first. Where nothing of the machine computes in
    it, they are widened to f32, and `finish` rounds once.

    Attributes:
        op: The op.
        emit: The state of code generation.
        registers: Elements of the result that each lane holds.
        source: The element type of the operands.
        dtype: The element type that is computed in.
        kind: Its type in MLIR, for all registers.
        names: The operands, each of that type.
    """

    def __init__(self, op: Op, emit: Emitter) -> None:
        self.emit = emit
        self.op = op
        self.registers = emit.registers(op)
        self.source = emit.dtype(op.operands[0])
        native = self.source == F16 and op.op_name in _NATIVE_F16
        self.dtype: DType = self.source if native else compute_dtype(self.source)
        self.kind = vector(element(self.dtype), self.registers)
        self.names = tuple([self._operand(value) for value in op.operands])

    def _operand(self, value: Op) -> str:
        found = self.emit.value(value)
        name, registers = found.name, found.registers
        if self.dtype != self.source:
            name = widened(self.emit, name, self.source, registers)
        if registers == self.registers:
            return name
        item = element(self.dtype)
        return self.emit.builder.op(f"vector.broadcast {name} : {item} to {self.kind}")

    def apply(self, name: str, *names: str) -> str:
        """One operation of the compute type."""
        flags = ""
        if self.dtype.is_float and self.emit.options.fast_math:
            flags = " fastmath<fast>"
        elif name in EXTREMES:
            one, other = names
            return extreme(self.emit, EXTREMES[name], one, other, self.kind)
        return self.emit.builder.op(f"{name} {', '.join(names)}{flags} : {self.kind}")

    def constant(self, value: float) -> str:
        """A number of the compute type in every element."""
        return self.emit.constant(value, self.dtype, self.registers)

    def test(self, name: str, predicate: str, *names: str) -> str:
        """A comparison."""
        text = f"{name} {predicate}, {', '.join(names)} : {self.kind}"
        return self.emit.builder.op(text)

    def choose(self, condition: str, one: str, other: str) -> str:
        """One of two values, element by element."""
        kinds = f"{vector('i1', self.registers)}, {self.kind}"
        text = f"arith.select {condition}, {one}, {other} : "
        return self.emit.builder.op(text + (kinds if self.registers > 1 else self.kind))

    def logic(self, name: str, one: str, other: str) -> str:
        """``andi`` or ``xori`` of two conditions."""
        kind = vector("i1", self.registers)
        return self.emit.builder.op(f"{name} {one}, {other} : {kind}")

    def finish(self, name: str) -> None:
        """Round the result and record it."""
        if self.dtype != self.source:
            name = narrowed(self.emit, name, self.source, self.registers)
        self.emit.set(self.op, name, self.registers)


@lowers(*ops.BINARY, *ops.UNARY)
def elementwise(op: Binary | Unary, emit: Emitter) -> None:
    """One operation, where there is one for the type."""
    work = Operands(op, emit)
    table = _FLOAT if work.dtype.is_float else _INTEGER
    name = table[op.op_name]
    if name == "math.exp2" and emit.options.fast_math and work.registers == 1:
        text = f"{_FAST['exp2']} {work.names[0]} {work.kind} -> {work.kind}"
        work.finish(emit.builder.op(text))
        return
    work.finish(work.apply(name, *work.names))


@lowers(ops.Neg, when=lambda op: not _is_float(op), benefit=2)
def negate_integer(op: ops.Neg, emit: Emitter) -> None:
    """Zero minus the value; it wraps."""
    work = Operands(op, emit)
    work.finish(work.apply("arith.subi", work.constant(0), *work.names))


@lowers(ops.Not, benefit=2)
def invert(op: ops.Not, emit: Emitter) -> None:
    """All bits flipped."""
    work = Operands(op, emit)
    ones = work.constant(1 if work.dtype.is_bool else -1)
    work.finish(work.apply("arith.xori", *work.names, ones))


@lowers(ops.Reciprocal, benefit=2)
def reciprocal(op: ops.Reciprocal, emit: Emitter) -> None:
    """One over the value."""
    work = Operands(op, emit)
    work.finish(work.apply("arith.divf", work.constant(1.0), *work.names))


@lowers(ops.Softsign, benefit=2)
def softsign(op: ops.Softsign, emit: Emitter) -> None:
    """``x / (1 + |x / cap|)``."""
    work = Operands(op, emit)
    (value,) = work.names
    ratio = work.apply("arith.divf", value, work.constant(op.cap))
    size = work.apply("math.absf", ratio)
    below = work.apply("arith.addf", work.constant(1.0), size)
    work.finish(work.apply("arith.divf", value, below))


@lowers(ops.Atan2, benefit=2)
def angle(op: ops.Atan2, emit: Emitter) -> None:
    """The angle; of a point at the origin, that of the signs of its zeros.

    The compiler computes ``0 / 0`` where it knows that both are zero.
    """
    work = Operands(op, emit)
    across, along = work.names
    zero, one = work.constant(0.0), work.constant(1.0)
    flat = work.test("arith.cmpf", "oeq", across, zero)
    origin = work.logic("arith.andi", flat, work.test("arith.cmpf", "oeq", along, zero))
    side = work.choose(origin, work.apply("math.copysign", one, along), along)
    work.finish(work.apply("math.atan2", across, side))


@lowers(ops.FloorDiv, benefit=2)
def floordiv(op: ops.FloorDiv, emit: Emitter) -> None:
    """The floor of the quotient."""
    work = Operands(op, emit)
    make = float_floordiv if work.dtype.is_float else integer_floordiv
    work.finish(make(work, *work.names))


@lowers(ops.Mod, benefit=2)
def modulo(op: ops.Mod, emit: Emitter) -> None:
    """The remainder on the side of the divisor."""
    work = Operands(op, emit)
    make = float_mod if work.dtype.is_float else integer_mod
    work.finish(make(work, *work.names))


def _is_float(op: Op) -> bool:
    kind = op.operands[0].register_type
    return kind.dtype.is_float
