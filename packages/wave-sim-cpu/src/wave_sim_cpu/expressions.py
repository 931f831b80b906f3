"""Values of index expressions on arrays, split so that little is computed anew.

An expression is cut into parts by what they depend on: the wave, the lane, the
register, loops, values. A part is evaluated on the smallest shape that holds it, and
again only when one of the symbols that change during the run has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Flag
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from wave_core.symbols import Expr, Kind, constant

Number: TypeAlias = "int | np.ndarray[Any, np.dtype[Any]]"
"""An integer, or an array of integers or truth values."""


def evaluate(expr: Expr, values: Mapping[Expr, Number]) -> Number:
    """The value of ``expr``; arrays broadcast, shared nodes are computed once.

    Raises:
        KeyError: a symbol has no value.
        ZeroDivisionError: a divisor is zero everywhere it is a plain integer.
    """
    return _value(expr, values, {})


def _value(
    expr: Expr, values: Mapping[Expr, Number], memo: dict[Expr, Number]
) -> Number:
    kind = expr.kind
    if kind is Kind.CONST:
        return expr.const
    if kind is Kind.SYMBOL:
        return values[expr]
    found = memo.get(expr)
    if found is None:
        args = [_value(arg, values, memo) for arg in expr.args]
        found = memo[expr] = (
            _sum(expr, args) if kind is Kind.SUM else _RULES[kind](args)
        )
    return found


def _sum(expr: Expr, args: list[Number]) -> Number:
    total: Number = expr.const
    for coeff, value in zip(expr.coeffs, args, strict=True):
        term = value if coeff == 1 else _wide(value) * coeff
        total = term if isinstance(total, int) and total == 0 else total + term
    return _wide(total)


def _wide(value: Number) -> Number:
    """Truth values as integers, so that they add and scale."""
    if isinstance(value, np.ndarray) and value.dtype == np.bool_:
        return value.astype(np.int64)
    return value


def _floordiv(args: list[Number]) -> Number:
    numerator, divisor = map(_wide, args)
    if isinstance(divisor, int) and divisor > 0 and not divisor & (divisor - 1):
        return numerator >> (divisor.bit_length() - 1)
    if isinstance(divisor, np.ndarray):
        with np.errstate(divide="ignore"):
            return np.floor_divide(numerator, divisor)
    return numerator // divisor


def _fold(function: Any, plain: Callable[[Number, Number], Number]) -> Any:
    def apply(args: list[Number]) -> Number:
        if all(isinstance(a, int) for a in args):
            return reduce(plain, args)
        return reduce(function, args)

    return apply


def _select(args: list[Number]) -> Number:
    condition, yes, no = args
    if isinstance(condition, int):
        return yes if condition else no
    return np.where(condition != 0, yes, no)


def _flag(value: Any) -> Number:
    return int(value) if isinstance(value, bool) else value


def _joined(function: Callable[[Any, Any], Any]) -> Callable[[list[Number]], Number]:
    """Of truth values, which integers are where they differ from 0."""
    return lambda args: _flag(reduce(function, [arg != 0 for arg in args]))


_RULES: Mapping[Kind, Callable[[list[Number]], Number]] = {
    Kind.PRODUCT: lambda args: reduce(lambda a, b: a * b, map(_wide, args)),
    Kind.FLOORDIV: _floordiv,
    Kind.XOR: lambda args: reduce(lambda a, b: a ^ b, map(_wide, args)),
    Kind.MIN: _fold(np.minimum, min),
    Kind.MAX: _fold(np.maximum, max),
    Kind.SELECT: _select,
    Kind.GE: lambda args: _flag(args[0] >= 0),
    Kind.EQ: lambda args: _flag(args[0] == 0),
    Kind.NE: lambda args: _flag(args[0] != 0),
    Kind.AND: _joined(lambda a, b: a & b),
    Kind.OR: _joined(lambda a, b: a | b),
}


class Axis(Flag):
    """Axes along which a value varies."""

    NONE = 0
    UNIT = 1
    LANE = 2
    REGISTER = 4
    VALUE = 8
    """Data of the running kernel; never remembered."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A summand: what it varies with, and the symbols that may change in the run."""

    expr: Expr
    axes: Axis
    mutable: tuple[Expr, ...]


class Environment:
    """Values of symbols, with a version for each symbol that changes.

    Parts remember their arrays here, so that they end with the environment.
    """

    def __init__(self, values: Mapping[Expr, Number]) -> None:
        self._values: dict[Expr, Number] = dict(values)
        self._versions: dict[Expr, int] = {}
        self._memo: dict[object, tuple[tuple[int, ...], Number]] = {}
        self._ranges: dict[object, tuple[tuple[int, ...], tuple[int, int]]] = {}

    def __contains__(self, symbol: Expr) -> bool:
        return symbol in self._values

    def value(self, symbol: Expr) -> Number:
        """The present value of a symbol."""
        return self._values[symbol]

    def set(self, symbol: Expr, value: Number) -> None:
        """Give a symbol a new value."""
        self._values[symbol] = value
        self._versions[symbol] = self._versions.get(symbol, 0) + 1

    def stamp(self, symbols: tuple[Expr, ...]) -> tuple[int, ...]:
        """The versions of symbols: equal stamps mean equal values."""
        return tuple([self._versions.get(s, 0) for s in symbols])

    def remember(
        self, key: object, mutable: tuple[Expr, ...], make: Callable[[], Number]
    ) -> Number:
        """The result of ``make``, computed once for each version of ``mutable``."""
        stamp = self.stamp(mutable)
        found = self._memo.get(key)
        if found is not None and found[0] == stamp:
            return found[1]
        value = make()
        self._memo[key] = (stamp, value)
        return value

    def part(self, part: Part, extra: Mapping[Expr, Number]) -> Number:
        """The value of a part; ``extra`` holds symbols of the op alone."""
        if part.axes & Axis.VALUE:
            return evaluate(part.expr, {**self._values, **extra})
        return self.remember(
            part, part.mutable, lambda: evaluate(part.expr, _Chain(extra, self._values))
        )

    def range(self, part: Part, extra: Mapping[Expr, Number]) -> tuple[int, int]:
        """The least and the greatest value of a part."""
        stamp = self.stamp(part.mutable)
        found = self._ranges.get(part)
        if found is not None and found[0] == stamp and not part.axes & Axis.VALUE:
            return found[1]
        value = self.part(part, extra)
        bounds = (
            (int(value.min()), int(value.max()))
            if isinstance(value, np.ndarray)
            else (value, value)
        )
        self._ranges[part] = (stamp, bounds)
        return bounds


class _Chain(dict[Expr, Number]):
    """Looks a symbol up in the op's own values, then in the environment's."""

    def __init__(
        self, own: Mapping[Expr, Number], outer: Mapping[Expr, Number]
    ) -> None:
        super().__init__(own)
        self._outer = outer

    def __missing__(self, symbol: Expr) -> Number:
        return self._outer[symbol]


class Linear:
    """A sum split into parts; a constant is a part of its own."""

    def __init__(self, expr: Expr, kinds: Callable[[Expr], tuple[Axis, bool]]) -> None:
        self.expr = expr
        self.parts = split(expr, kinds)
        self.mutable = tuple(
            sorted({s for p in self.parts for s in p.mutable}, key=lambda s: s.name)
        )
        self.axes = reduce(lambda a, p: a | p.axes, self.parts, Axis.NONE)

    def array(self, env: Environment, extra: Mapping[Expr, Number]) -> Number:
        """The value, on the smallest shape that holds it."""
        if self.axes & Axis.VALUE:
            return add_all(env.part(p, extra) for p in self.parts)
        fixed = [p for p in self.parts if not p.mutable]
        moving = [p for p in self.parts if p.mutable]
        base = env.remember(
            self, (), lambda: add_all(env.part(p, extra) for p in fixed)
        )
        if not moving:
            return base
        shift = add_all(env.part(p, extra) for p in moving)
        return base if isinstance(shift, int) and shift == 0 else base + shift

    def range(self, env: Environment, extra: Mapping[Expr, Number]) -> tuple[int, int]:
        """Bounds that hold for all elements; exact where parts share no axis."""
        low = high = 0
        for part in self.parts:
            least, greatest = env.range(part, extra)
            low += least
            high += greatest
        return low, high


def add_all(values: Iterable[Number]) -> Number:
    """The sum, small shapes first; zeros cost nothing."""
    ordered = sorted(values, key=lambda v: v.size if isinstance(v, np.ndarray) else 0)
    total: Number = 0
    for value in ordered:
        first = isinstance(total, int) and total == 0
        total = value if first else total + value
    return total


def split(expr: Expr, kinds: Callable[[Expr], tuple[Axis, bool]]) -> tuple[Part, ...]:
    """The summands of ``expr``, gathered by what they depend on."""
    rest, terms = expr.linear()
    groups: dict[tuple[Axis, tuple[Expr, ...]], Expr] = {}
    for term, coeff in terms:
        key = dependence(term, kinds)
        groups[key] = groups.get(key, constant(0)) + term * coeff
    if rest or not groups:
        plain = (Axis.NONE, ())
        groups[plain] = groups.get(plain, constant(0)) + rest
    return tuple(Part(e, axes, mutable) for (axes, mutable), e in groups.items())


def dependence(
    expr: Expr, kinds: Callable[[Expr], tuple[Axis, bool]]
) -> tuple[Axis, tuple[Expr, ...]]:
    """The axes of an expression, and its symbols that change in the run."""
    axes = Axis.NONE
    mutable: list[Expr] = []
    for found in expr.free_symbols:
        axis, changes = kinds(found)
        axes |= axis
        if changes:
            mutable.append(found)
    return axes, tuple(sorted(mutable, key=lambda s: s.name))
