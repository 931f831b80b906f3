"""Numbers of a function that is being written: operators append instructions."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

F64, F32 = "double", "float"
I64, I32, I8, I1 = "i64", "i32", "i8", "i1"
FLOATS = frozenset({F64, F32})

WORDS = {F64: I64, F32: I32}
"""The integers with as many bits."""

_RELATIONS = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}


class Body:
    """The text of one function so far, with the declarations that it needs."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self._last = 0
        self._label = "entry"

    def op(self, text: str, kind: str) -> Number:
        """Append an instruction; gives its result, of type ``kind``."""
        self._last += 1
        name = f"%t{self._last}"
        self.lines.append(f"  {name} = {text}")
        return Number(self, name, kind)

    def constant(self, value: float, kind: str) -> Number:
        """A number of a type."""
        return Number(self, literal(value, kind), kind)

    def call(self, function: str, kind: str, *numbers: Number) -> Number:
        """Call an intrinsic."""
        kinds = ", ".join(number.kind for number in numbers)
        self.declared[function] = f"declare {kind} @{function}({kinds})"
        given = ", ".join(f"{number.kind} {number.name}" for number in numbers)
        return self.op(f"call {kind} @{function}({given})", kind)

    def _open(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._label = label

    def _labels(self, *names: str) -> list[str]:
        self._last += 1
        return [f"{name}{self._last}" for name in names]

    def when(
        self, test: Number, make: Callable[[], Pair], otherwise: Pair
    ) -> tuple[Number, Number]:
        """Two numbers that ``make`` computes in a branch, or those of ``otherwise``."""
        (inside, join), before = self._labels("then", "join"), self._label
        self.lines.append(f"  br i1 {test.name}, label %{inside}, label %{join}")
        self._open(inside)
        made = make()
        last = self._label
        self.lines.append(f"  br label %{join}")
        self._open(join)

        def joined(one: Number, other: Number) -> Number:
            ways = f"[ {one.name}, %{last} ], [ {other.name}, %{before} ]"
            return self.op(f"phi {one.kind} {ways}", one.kind)

        return joined(made[0], otherwise[0]), joined(made[1], otherwise[1])

    def repeat(
        self,
        start: Pair,
        step: Callable[[Number, Number], Pair],
    ) -> Number:
        """The first of two numbers after steps that end where the second is not > 0."""
        (head, inside, end), before = self._labels("head", "step", "end"), self._label
        names = [f"%s{self._last}.{at}" for at in (0, 1)]
        self.lines.append(f"  br label %{head}")
        self._open(head)
        place = len(self.lines)
        carried = [
            Number(self, name, each.kind)
            for name, each in zip(names, start, strict=True)
        ]
        test = carried[1].greater(0)
        self.lines.append(f"  br i1 {test.name}, label %{inside}, label %{end}")
        self._open(inside)
        stepped = step(*carried)
        last = self._label
        self.lines.append(f"  br label %{head}")
        self._open(end)
        self.lines[place:place] = [
            f"  {name} = phi {one.kind} [ {one.name}, %{before} ],"
            f" [ {new.name}, %{last} ]"
            for name, one, new in zip(names, start, stepped, strict=True)
        ]
        return carried[0]


def literal(value: float, kind: str) -> str:
    """A number as LLVM reads it: floats by the bits of a double."""
    if kind not in FLOATS:
        return str(int(value))
    if kind == F32:
        (value,) = struct.unpack("<f", struct.pack("<f", value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


Operand: TypeAlias = "Number | float"
Pair: TypeAlias = "tuple[Number, Number]"


class Number:
    """A value of a function, of a scalar type of LLVM."""

    __slots__ = ("body", "kind", "name")

    def __init__(self, body: Body, name: str, kind: str) -> None:
        self.body = body
        self.name = name
        self.kind = kind

    @property
    def is_float(self) -> bool:
        """Whether it is a float."""
        return self.kind in FLOATS

    def like(self, other: Operand) -> Number:
        """``other`` as a value of the same type."""
        if isinstance(other, Number):
            return other
        return self.body.constant(other, self.kind)

    def _with(self, name: str, other: Operand) -> Number:
        text = f"{name} {self.kind} {self.name}, {self.like(other).name}"
        return self.body.op(text, self.kind)

    def _plain(self, name: str, other: Operand) -> Number:
        return self._with(f"f{name}" if self.is_float else name, other)

    def __add__(self, other: Operand) -> Number:
        return self._plain("add", other)

    def __sub__(self, other: Operand) -> Number:
        return self._plain("sub", other)

    def __mul__(self, other: Operand) -> Number:
        return self._plain("mul", other)

    def __truediv__(self, other: Operand) -> Number:
        return self._with("fdiv", other)

    def __neg__(self) -> Number:
        if self.is_float:
            return self.body.op(f"fneg {self.kind} {self.name}", self.kind)
        return self.like(0) - self

    def __and__(self, other: Operand) -> Number:
        return self._with("and", other)

    def __or__(self, other: Operand) -> Number:
        return self._with("or", other)

    def __xor__(self, other: Operand) -> Number:
        return self._with("xor", other)

    def __lshift__(self, other: Operand) -> Number:
        return self._with("shl", other)

    def __rshift__(self, other: Operand) -> Number:
        """The shift that brings in zeros."""
        return self._with("lshr", other)

    def rest(self, other: Operand) -> Number:
        """The remainder of a division without sign."""
        return self._with("urem", other)

    # ---- comparisons, false for NaN but for `differs`

    def _test(self, relation: str, other: Operand) -> Number:
        if self.is_float:
            name = f"fcmp {'une' if relation == 'ne' else 'o' + relation}"
        else:
            name = f"icmp {_RELATIONS.get(relation, relation)}"
        text = f"{name} {self.kind} {self.name}, {self.like(other).name}"
        return self.body.op(text, I1)

    def less(self, other: Operand) -> Number:
        """Whether it is less."""
        return self._test("lt", other)

    def greater(self, other: Operand) -> Number:
        """Whether it is greater."""
        return self._test("gt", other)

    def equals(self, other: Operand) -> Number:
        """Whether it is equal."""
        return self._test("eq", other)

    def differs(self, other: Operand) -> Number:
        """Whether it is not equal; NaN is not."""
        return self._test("ne", other)

    @property
    def is_nan(self) -> Number:
        """Whether it is NaN."""
        return self.differs(self)

    def choose(self, one: Operand, other: Operand, kind: str = "") -> Number:
        """One of two values by this truth value; at least one has a type."""
        given = [each.kind for each in (one, other) if isinstance(each, Number)]
        kind = given[0] if given else kind
        sides = [
            each if isinstance(each, Number) else self.body.constant(each, kind)
            for each in (one, other)
        ]
        first, second = (f"{kind} {side.name}" for side in sides)
        return self.body.op(f"select i1 {self.name}, {first}, {second}", kind)

    # ---- functions

    def times_plus(self, factor: Operand, term: Operand) -> Number:
        """``self * factor + term``, rounded once."""
        name = f"llvm.fma.{'f64' if self.kind == F64 else 'f32'}"
        given = (self, self.like(factor), self.like(term))
        return self.body.call(name, self.kind, *given)

    def _of_one(self, name: str) -> Number:
        suffix = "f64" if self.kind == F64 else "f32"
        return self.body.call(f"llvm.{name}.{suffix}", self.kind, self)

    @property
    def size(self) -> Number:
        """The absolute value."""
        return self._of_one("fabs")

    @property
    def nearest(self) -> Number:
        """The nearest whole number, the even one of two."""
        return self._of_one("roundeven")

    @property
    def root(self) -> Number:
        """The square root, rounded once."""
        return self._of_one("sqrt")

    def signed_as(self, other: Number) -> Number:
        """With the sign of ``other``."""
        suffix = "f64" if self.kind == F64 else "f32"
        return self.body.call(f"llvm.copysign.{suffix}", self.kind, self, other)

    def approximate(self, name: str) -> Number:
        """An instruction of the machine on one f32."""
        return self.body.call(f"llvm.nvvm.{name}", self.kind, self)

    # ---- types

    def _cast(self, name: str, kind: str) -> Number:
        return self.body.op(f"{name} {self.kind} {self.name} to {kind}", kind)

    @property
    def bits(self) -> Number:
        """The bits of a float."""
        return self._cast("bitcast", WORDS[self.kind])

    def as_float(self, kind: str) -> Number:
        """The float with these bits."""
        return self._cast("bitcast", kind)

    def to_float(self, kind: str) -> Number:
        """A signed integer as a float."""
        return self._cast("sitofp", kind)

    def to_float_unsigned(self, kind: str) -> Number:
        """An integer without a sign as a float."""
        return self._cast("uitofp", kind)

    def wide(self) -> Number:
        """An f32 as f64."""
        return self._cast("fpext", F64)

    def narrow(self) -> Number:
        """An f64 rounded to f32."""
        return self._cast("fptrunc", F32)

    def truncated(self, kind: str) -> Number:
        """The low bits of an integer."""
        return self._cast("trunc", kind)

    def extended(self, kind: str) -> Number:
        """An integer with zeros above."""
        return self._cast("zext", kind)

    def polynomial(self, coefficients: Sequence[float]) -> Number:
        """The polynomial in this number, the constant coefficient first."""
        *lower, total = coefficients
        result = self.like(total)
        for coefficient in reversed(lower):
            result = result.times_plus(self, coefficient)
        return result
