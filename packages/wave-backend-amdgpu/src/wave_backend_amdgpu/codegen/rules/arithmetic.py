"""Arithmetic and mathematics, element by element.

f16 adds, subtracts and multiplies natively: rounding the f32 result of these once
more gives the same (Figueroa 1995: 24 bits are at least twice 11 plus 2). Everything
else in a narrow float goes through f32 and is rounded once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.rules.divisions import DIVISIONS
from wave_backend_amdgpu.codegen.rules.floats import (
    EXTREMES,
    F16,
    F32,
    compute_dtype,
    extreme,
    narrowed,
    widened,
)
from wave_backend_amdgpu.codegen.rules.shape import both_sides
from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends import lowers
from wave_core.backends.emission import element
from wave_core.ir import resolve
from wave_core.ops import arithmetic as ops
from wave_core.ops.reduce import Shuffle

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_core.ops.base import Op
    from wave_core.ops.elementwise import Binary, Unary
    from wave_core.types import DType

_MATH = (
    *("powf", "exp", "exp2", "sqrt", "rsqrt", "log", "log2", "log10", "roundeven"),
    *("floor", "ceil", "sin", "cos", "sinh", "tanh", "cbrt", "erf"),
)
"""Functions that the dialect `math` has under the language's name."""

_FLOAT = {
    **{name: f"math.{name}" for name in _MATH},
    **{name: f"arith.{name}f" for name in ("add", "sub", "mul", "div", "neg")},
    **{name: f"arith.{name}f" for name in ("maximum", "minimum")},
    "abs": "math.absf",
    "round": "math.roundeven",
    "tanh_approx": "math.tanh",
    "remf": "arith.remf",
}

_INTEGER = {
    **{name: f"arith.{name}i" for name in ("add", "sub", "mul", "and", "or", "xor")},
    "maximum": "arith.maxsi",
    "minimum": "arith.minsi",
    "abs": "math.absi",
}

_UNSIGNED = _INTEGER | {"maximum": "arith.maxui", "minimum": "arith.minui"}

_NATIVE_F16 = frozenset({"add", "sub", "mul", "neg", "abs"})

_FAST = " fastmath<reassoc,nsz,arcp,contract,afn>"
"""What fast math allows. NaN and infinities mean what they always do: masks of softmax
are made of infinities."""

_FAST_EXTREME = " fastmath<nnan,nsz>"
"""What it allows a maximum or minimum: to prefer the number to NaN."""


_EITHER_WAY = (ops.Add, ops.Maximum, ops.Minimum)
"""What is the same whichever operand comes first."""


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
        fast = self.dtype.is_float and self.emit.options.fast_math
        flags = _FAST if fast else ""
        if name in EXTREMES and fast:
            flags = _FAST_EXTREME
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
    integers = _UNSIGNED if work.dtype.is_unsigned else _INTEGER
    name = (_FLOAT if work.dtype.is_float else integers)[op.op_name]
    if name == "math.exp2" and emit.options.fast_math and work.dtype == F32:
        work.finish(_bare_exp2(work))
        return
    work.finish(work.apply(name, *(_partners(work) or work.names)))


def _partners(work: Operands) -> tuple[str, str] | None:
    """The operands of a step of a butterfly, where they come without a selection."""
    op = work.op
    if not isinstance(op, _EITHER_WAY) or work.dtype != work.source:
        return None
    moved = resolve(op.rhs)
    if not isinstance(moved, Shuffle) or resolve(moved.value) is not resolve(op.lhs):
        return None
    return both_sides(moved, work.emit)


def _bare_exp2(work: Operands) -> str:
    """The instruction alone for each element, which flushes what is below normal."""
    op, (name,) = work.emit.builder.op, work.names
    if work.registers == 1:
        return op(f"rocdl.exp2 {name} f32 -> f32")
    each = [
        op(f"vector.extract {name}[{at}] : f32 from {work.kind}")
        for at in range(work.registers)
    ]
    powers = [op(f"rocdl.exp2 {one} f32 -> f32") for one in each]
    return op(f"vector.from_elements {', '.join(powers)} : {work.kind}")


@lowers(ops.Neg, when=lambda op: not op.register_type.dtype.is_float, benefit=2)
def negate_integer(op: ops.Neg, emit: Emitter) -> None:
    """Zero minus the value; it wraps."""
    work = Operands(op, emit)
    work.finish(work.apply("arith.subi", work.constant(0), *work.names))


def _is_unsigned(op: Op) -> bool:
    return op.operands[0].register_type.dtype.is_unsigned


@lowers(ops.Abs, when=_is_unsigned, benefit=2)
def size_of_unsigned(op: ops.Abs, emit: Emitter) -> None:
    """The value itself."""
    work = Operands(op, emit)
    work.finish(*work.names)


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


@lowers(ops.Sigmoid, ops.Silu, benefit=2)
def logistic(op: ops.Sigmoid | ops.Silu, emit: Emitter) -> None:
    """``1 / (1 + exp(-x))``, or ``x`` over the same."""
    work = Operands(op, emit)
    (value,) = work.names
    top = work.constant(1.0) if isinstance(op, ops.Sigmoid) else value
    work.finish(_over_one_plus_exp(work, top, work.apply("arith.negf", value)))


def _over_one_plus_exp(work: Operands, top: str, power: str) -> str:
    below = work.apply("arith.addf", work.constant(1.0), work.apply("math.exp", power))
    return work.apply("arith.divf", top, below)


@lowers(ops.Gelu, benefit=2)
def gelu(op: ops.Gelu, emit: Emitter) -> None:
    """By erfc, or by the logistic function that the form ``tanh`` comes to."""
    work = Operands(op, emit)
    (value,) = work.names
    if op.approximate == "none":
        half = work.apply("arith.mulf", value, work.constant(0.5))
        below = work.apply("arith.mulf", value, work.constant(-math.sqrt(0.5)))
        work.finish(work.apply("arith.mulf", half, work.apply("math.erfc", below)))
        return
    square = work.apply("arith.mulf", value, value)
    cube = work.apply("arith.mulf", square, value)
    cube = work.apply("arith.mulf", cube, work.constant(ops.GELU_CUBE))
    inner = work.apply("arith.addf", value, cube)
    inner = work.apply("arith.mulf", inner, work.constant(ops.GELU_SCALE))
    work.finish(_over_one_plus_exp(work, value, inner))


@lowers(ops.Shl, ops.Shr, benefit=2)
def shift(op: ops.Shl | ops.Shr, emit: Emitter) -> None:
    """A shift by less than the width; beyond it, what comes in.

    The machine takes the distance modulo the width.
    """
    work = Operands(op, emit)
    value, distance = work.names
    last = work.constant(work.dtype.bits - 1)
    # As unsigned numbers, negative distances are beyond the width too.
    beyond = work.test("arith.cmpi", "ugt", distance, last)
    if isinstance(op, ops.Shr) and not work.dtype.is_unsigned:
        work.finish(
            work.apply("arith.shrsi", value, work.choose(beyond, last, distance))
        )
        return
    name = "arith.shli" if isinstance(op, ops.Shl) else "arith.shrui"
    safe = work.choose(beyond, last, distance)
    moved = work.apply(name, value, safe)
    work.finish(work.choose(beyond, work.constant(0), moved))


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


@lowers(ops.FloorDiv, ops.Mod, benefit=2)
def division(op: ops.FloorDiv | ops.Mod, emit: Emitter) -> None:
    """The floor of the quotient; the remainder on the side of the divisor."""
    work = Operands(op, emit)
    make = DIVISIONS[op.op_name, work.dtype.family]
    work.finish(make(work, *work.names))
