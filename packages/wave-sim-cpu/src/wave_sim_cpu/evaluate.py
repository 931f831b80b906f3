"""The value of an expression where symbols stand for integers or arrays of them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wave_core.symbols import Expr, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def _product(args: list[Number]) -> Number:
    return reduce(lambda a, b: a * b, map(_wide, args))


def _floordiv(args: list[Number]) -> Number:
    numerator, divisor = map(_wide, args)
    if isinstance(divisor, int) and divisor > 0 and not divisor & (divisor - 1):
        return numerator >> (divisor.bit_length() - 1)
    if isinstance(divisor, np.ndarray):
        with np.errstate(divide="ignore"):
            return np.floor_divide(numerator, divisor)
    return numerator // divisor


def _xor(args: list[Number]) -> Number:
    return reduce(lambda a, b: a ^ b, map(_wide, args))


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


def _truth(value: Number) -> Any:
    """A truth value that combines with arrays of bools as one."""
    return value != 0


def _and(args: list[Number]) -> Number:
    return _flag(reduce(lambda a, b: a & b, map(_truth, args)))


def _or(args: list[Number]) -> Number:
    return _flag(reduce(lambda a, b: a | b, map(_truth, args)))


_RULES: Mapping[Kind, Callable[[list[Number]], Number]] = {
    Kind.PRODUCT: _product,
    Kind.FLOORDIV: _floordiv,
    Kind.XOR: _xor,
    Kind.MIN: _fold(np.minimum, min),
    Kind.MAX: _fold(np.maximum, max),
    Kind.SELECT: _select,
    Kind.GE: lambda args: _flag(args[0] >= 0),
    Kind.EQ: lambda args: _flag(args[0] == 0),
    Kind.NE: lambda args: _flag(args[0] != 0),
    Kind.AND: _and,
    Kind.OR: _or,
}
