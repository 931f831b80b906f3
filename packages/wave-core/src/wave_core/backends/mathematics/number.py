"""Numbers of a function that is being written: operators append instructions.

A formula is written once, with operators, for every backend whose machine has no
instruction for it. A backend's numbers say what the operators append.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

F64, F32 = "f64", "f32"
I64, I32, I8, I1 = "i64", "i32", "i8", "i1"
FLOATS = frozenset({F64, F32})

WORDS = {F64: I64, F32: I32}
"""The integers with as many bits."""


class Body(ABC):
    """A function that a backend writes: what operators append to it."""

    @abstractmethod
    def constant(self, value: float, kind: str) -> Number:
        """A number that is known."""

    @abstractmethod
    def computed(self, word: str, *numbers: Number) -> Number:
        """An operation on numbers of one kind, which is that of the result.

        ``add``, ``sub`` and ``mul`` of all; ``div``, ``neg``, ``fma``, ``size``,
        ``nearest`` (the even one of two) and ``signed`` (as the other) of floats;
        ``and``, ``or``, ``xor``, ``shl``, ``lshr``, ``ashr`` and ``rest`` (without
        sign) of integers, the first three of truth values, too. ``exp2`` and
        ``reciprocal`` of f32 may be off by two units.
        """

    @abstractmethod
    def tested(self, relation: str, one: Number, other: Number) -> Number:
        """A truth value: ``lt``, ``le``, ``gt``, ``ge``, ``eq``, ``ne``.

        With NaN all are false but for ``ne``; integers have a sign, but in ``ult``.
        """

    @abstractmethod
    def chosen(self, test: Number, one: Number, other: Number) -> Number:
        """One of two values."""

    @abstractmethod
    def converted(self, word: str, number: Number, kind: str) -> Number:
        """A number of another kind, by a word of `CONVERSIONS`."""


class Number:
    """A value of a function: one scalar of ``kind``, by its name in the body."""

    __slots__ = ("body", "kind", "name")

    def __init__(self, body: Body, name: str, kind: str) -> None:
        self.body = body
        self.name = name
        self.kind = kind

    # ---- operators

    @property
    def is_float(self) -> bool:
        """Whether it is a float."""
        return self.kind in FLOATS

    def like(self, other: Number | float) -> Number:
        """``other`` as a value of the same kind."""
        if isinstance(other, Number):
            return other
        return self.body.constant(other, self.kind)

    def _with(self, word: str, other: Number | float) -> Number:
        return self.body.computed(word, self, self.like(other))

    def __add__(self, other: Number | float) -> Number:
        return self._with("add", other)

    def __sub__(self, other: Number | float) -> Number:
        return self._with("sub", other)

    def __mul__(self, other: Number | float) -> Number:
        return self._with("mul", other)

    def __truediv__(self, other: Number | float) -> Number:
        return self._with("div", other)

    def __neg__(self) -> Number:
        if self.is_float:
            return self.body.computed("neg", self)
        return self.like(0) - self

    def __and__(self, other: Number | float) -> Number:
        return self._with("and", other)

    def __or__(self, other: Number | float) -> Number:
        return self._with("or", other)

    def __xor__(self, other: Number | float) -> Number:
        return self._with("xor", other)

    def __lshift__(self, other: Number | float) -> Number:
        return self._with("shl", other)

    def __rshift__(self, other: Number | float) -> Number:
        """The shift that brings in zeros."""
        return self._with("lshr", other)

    def shifted(self, distance: Number | float) -> Number:
        """The shift to lower bits that brings in the sign."""
        return self._with("ashr", distance)

    def rest(self, other: Number | float) -> Number:
        """The remainder of a division without sign."""
        return self._with("rest", other)

    # ---- comparisons, false for NaN but for `differs`

    def _test(self, relation: str, other: Number | float) -> Number:
        return self.body.tested(relation, self, self.like(other))

    def less(self, other: Number | float) -> Number:
        """Whether it is less."""
        return self._test("lt", other)

    def greater(self, other: Number | float) -> Number:
        """Whether it is greater."""
        return self._test("gt", other)

    def equals(self, other: Number | float) -> Number:
        """Whether it is equal."""
        return self._test("eq", other)

    def differs(self, other: Number | float) -> Number:
        """Whether it is not equal; NaN is not."""
        return self._test("ne", other)

    @property
    def is_nan(self) -> Number:
        """Whether it is NaN."""
        return self.differs(self)

    def choose(
        self, one: Number | float, other: Number | float, kind: str = ""
    ) -> Number:
        """One of two values by this truth value; at least one has a kind."""
        given = [each.kind for each in (one, other) if isinstance(each, Number)]
        kind = given[0] if given else kind
        first, second = (
            each if isinstance(each, Number) else self.body.constant(each, kind)
            for each in (one, other)
        )
        return self.body.chosen(self, first, second)

    # ---- functions

    def times_plus(self, factor: Number | float, term: Number | float) -> Number:
        """``self * factor + term``, rounded once."""
        return self.body.computed("fma", self, self.like(factor), self.like(term))

    @property
    def size(self) -> Number:
        """The absolute value."""
        return self.body.computed("size", self)

    @property
    def nearest(self) -> Number:
        """The nearest whole number, the even one of two."""
        return self.body.computed("nearest", self)

    def approximate(self, word: str) -> Number:
        """``exp2`` or ``reciprocal`` of an f32, off by two units at the most."""
        return self.body.computed(word, self)

    def signed_as(self, other: Number) -> Number:
        """With the sign of ``other``."""
        return self.body.computed("signed", self, other)

    # ---- kinds

    @property
    def bits(self) -> Number:
        """The bits of a float."""
        return self.body.converted("bitcast", self, WORDS[self.kind])

    def as_float(self, kind: str) -> Number:
        """The float with these bits."""
        return self.body.converted("bitcast", self, kind)

    def to_float(self, kind: str) -> Number:
        """A signed integer as a float."""
        return self.body.converted("sitofp", self, kind)

    def to_float_unsigned(self, kind: str) -> Number:
        """An integer without a sign as a float."""
        return self.body.converted("uitofp", self, kind)

    def wide(self) -> Number:
        """An f32 as f64."""
        return self.body.converted("extf", self, F64)

    def narrow(self) -> Number:
        """An f64 rounded to f32."""
        return self.body.converted("truncf", self, F32)

    def truncated(self, kind: str) -> Number:
        """The low bits of an integer."""
        return self.body.converted("trunci", self, kind)

    def extended(self, kind: str) -> Number:
        """An integer with zeros above."""
        return self.body.converted("extui", self, kind)

    def polynomial(self, coefficients: Sequence[float]) -> Number:
        """The polynomial in this number, the constant coefficient first."""
        *lower, total = coefficients
        result = self.like(total)
        for coefficient in reversed(lower):
            result = result.times_plus(self, coefficient)
        return result


def limited(value: Number, low: float, high: float) -> Number:
    """The number within two others; NaN becomes the lower one."""
    above = value.greater(low).choose(value, low)
    return above.less(high).choose(above, high)


def finite(value: Number, result: Number) -> Number:
    """A result that only finite numbers have; NaN for others."""
    return value.size.less(math.inf).choose(result, math.nan)
