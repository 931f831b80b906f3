"""Values of expressions, on Python integers and on numpy arrays that broadcast.

Python integers are exact at any size. Arrays compute in int64 and wrap beyond it.
Every sub-expression is computed, also in the branch of a select that is not taken,
and a division by zero in any of them is an error.
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import TYPE_CHECKING, Any

from wave_core.symbols.error import SymbolError
from wave_core.symbols.node import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from wave_core.symbols.expr import Expr

    Value = int | np.ndarray[Any, Any]


def evaluate(expr: Expr, env: Mapping[Expr, Value]) -> Value:
    """The value of `expr` where `env` gives each symbol a value.

    Shapes: the values in `env` broadcast against each other; a sub-expression has only
        the shape that its own symbols need.
    Dtypes: `int`, or an integer array (computed as int64).

    Raises:
        SymbolError: A symbol has no value, or a divisor is zero.
    """
    return Evaluator(env)(expr)


class Evaluator:
    """Evaluates many expressions at one point, each sub-expression once."""

    def __init__(self, env: Mapping[Expr, Value]) -> None:
        self._values: dict[Expr, Value] = {
            key: _as_value(value) for key, value in env.items()
        }

    def __call__(self, expr: Expr) -> Value:
        """The value of one expression."""
        found = self._values.get(expr)
        if found is not None:
            return found
        if expr.kind is Kind.CONST:
            return expr.const
        if expr.kind is Kind.SYMBOL:
            msg = f"no value for symbol {expr}"
            raise SymbolError(msg)
        args = [self(arg) for arg in expr.args]
        result = self._values[expr] = apply_node(expr, args)
        return result


def _as_value(value: Any) -> Value:
    if type(value) is int:
        return value
    if getattr(value, "ndim", 0):
        if value.dtype.kind not in "iub":
            msg = f"index values must be integers, not {value.dtype}"
            raise SymbolError(msg)
        return value.astype("int64", copy=False)
    if getattr(value, "shape", None) == ():
        value = value.item()
    if not isinstance(value, int):
        msg = f"index values must be integers, not {value!r}"
        raise SymbolError(msg)
    return int(value)


# ---- one node at a time, for integers and arrays


def apply_node(node: Expr, args: Sequence[Value]) -> Value:
    """The value of a node whose arguments have the values `args`."""
    if node.kind is Kind.SUM:
        result: Value = node.const
        for value, coeff in zip(args, node.coeffs, strict=True):
            result = result + (value if coeff == 1 else value * coeff)
        return result
    return _APPLY[node.kind](*args)


def _apply_floordiv(num: Value, den: Value) -> Value:
    if (den == 0) if isinstance(den, int) else bool((den == 0).any()):
        msg = "division by zero while evaluating"
        raise SymbolError(msg)
    return num // den


def _apply_min(*args: Value) -> Value:
    if all(isinstance(value, int) for value in args):
        return min(args)
    import numpy as np  # noqa: PLC0415

    return reduce(np.minimum, args)


def _apply_max(*args: Value) -> Value:
    return -_apply_min(*[-value for value in args])


def _apply_select(condition: Value, yes: Value, no: Value) -> Value:
    if isinstance(condition, int):
        return yes if condition else no
    import numpy as np  # noqa: PLC0415

    return np.where(condition != 0, yes, no)


def _fold(combine: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    return lambda *args: reduce(combine, args)


def _test(compare: Callable[[Any, int], Any]) -> Callable[[Value], Value]:
    """The comparison of a value with zero, as 0 and 1."""

    def test(value: Value) -> Value:
        holds = compare(value, 0)
        return int(holds) if isinstance(holds, bool) else holds.astype("int64")

    return test


_APPLY: Mapping[Kind, Callable[..., Value]] = {
    Kind.PRODUCT: _fold(lambda a, b: a * b),
    Kind.FLOORDIV: _apply_floordiv,
    Kind.XOR: _fold(lambda a, b: a ^ b),
    Kind.MIN: _apply_min,
    Kind.MAX: _apply_max,
    Kind.SELECT: _apply_select,
    Kind.GE: _test(operator.ge),
    Kind.EQ: _test(operator.eq),
    Kind.NE: _test(operator.ne),
    Kind.AND: _fold(lambda a, b: a & b),
    Kind.OR: _fold(lambda a, b: a | b),
}
