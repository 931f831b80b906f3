"""The operands of one op, made alike.

f16 adds, subtracts and multiplies natively: rounding the f32 result of these once
more gives the same (Figueroa 1995: 24 bits are at least twice 11 plus 2). Everything
else in a narrow float goes through f32 and is rounded once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.backends.emission.floats import F16, compute_dtype, narrowed, widened
from wave_core.backends.emission.instructions import I1, Kind
from wave_core.backends.emission.values import element

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission
    from wave_core.ops.base import Op
    from wave_core.types import DType

EXTREMES = frozenset({"maximumf", "minimumf"})

NATIVE_F16 = frozenset({"add", "sub", "mul", "neg", "abs"})
"""Ops that are computed in f16."""


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
        kind: That of the operands and the result.
        names: The operands, each of that kind.
    """

    def __init__(self, op: Op, emit: Emission) -> None:
        self.emit = emit
        self.op = op
        self.registers = emit.registers(op)
        self.source = emit.dtype(op.operands[0])
        native = self.source == F16 and op.op_name in NATIVE_F16
        self.dtype: DType = self.source if native else compute_dtype(self.source)
        self.kind = Kind(element(self.dtype), self.registers)
        self.names = tuple([self._operand(value) for value in op.operands])

    def _operand(self, value: Op) -> str:
        found = self.emit.value(value)
        name, registers = found.name, found.registers
        if self.dtype != self.source:
            name = widened(self.emit, name, self.source, registers)
        if registers == self.registers:
            return name
        return self.emit.instructions.broadcast(self.kind, name)

    def apply(self, word: str, *names: str) -> str:
        """One operation of the compute type, by a word of `Instructions`."""
        allowed = self.emit.fast_math if self.dtype.is_float else None
        fast = allowed is not None
        if allowed and word in EXTREMES:
            fast = allowed.maxima_drop_nan
        return self.emit.instructions.apply(word, self.kind, *names, fast=fast)

    def constant(self, value: float) -> str:
        """A number of the compute type in every element."""
        return self.emit.constant(value, self.dtype, self.registers)

    def test(self, predicate: str, one: str, other: str) -> str:
        """A comparison."""
        return self.emit.instructions.compare(predicate, self.kind, one, other)

    def choose(self, condition: str, one: str, other: str) -> str:
        """One of two values, element by element."""
        return self.emit.instructions.select(condition, self.kind, one, other)

    def logic(self, word: str, one: str, other: str) -> str:
        """``andi`` or ``xori`` of two conditions."""
        kind = Kind(I1.item, self.registers)
        return self.emit.instructions.apply(word, kind, one, other)

    def finish(self, name: str) -> None:
        """Round the result and record it."""
        if self.dtype != self.source:
            name = narrowed(self.emit, name, self.source, self.registers)
        self.emit.set(self.op, name, self.registers)
