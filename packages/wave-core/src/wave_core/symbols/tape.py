"""Expressions compiled to a flat list of steps, for many evaluations."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from wave_core.symbols.error import SymbolError
from wave_core.symbols.evaluate import Evaluator
from wave_core.symbols.node import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wave_core.symbols.evaluate import Value
    from wave_core.symbols.expr import Expr

    Step = Callable[[list[int]], int]


class Tape:
    """Several expressions compiled together; shared parts are computed once.

    Attributes:
        symbols: The symbols that need values, in the order that `at` takes them.
    """

    def __init__(self, exprs: Iterable[Expr]) -> None:
        self._exprs = tuple(exprs)
        slots: dict[Expr, int] = {}
        order = _postorder(self._exprs)
        self.symbols = tuple([node for node in order if node.kind is Kind.SYMBOL])
        for node in self.symbols:
            slots[node] = len(slots)
        self._steps: list[Step] = []
        for node in order:
            if node.kind is not Kind.SYMBOL:
                self._steps.append(_compile(node, [slots[arg] for arg in node.args]))
                slots[node] = len(slots)
        self._outputs = [slots[expr] for expr in self._exprs]

    def run(self, env: Mapping[Expr, Value]) -> list[Value]:
        """The values of all expressions; see `evaluate`."""
        try:
            row: list[Any] = [env[node] for node in self.symbols]
        except KeyError as error:
            msg = f"no value for symbol {error.args[0]}"
            raise SymbolError(msg) from None
        if all(type(value) is int for value in row):
            return list(self.at(row))
        evaluator = Evaluator(env)
        return [evaluator(expr) for expr in self._exprs]

    def at(self, row: Sequence[int]) -> list[int]:
        """The values at Python integers given in the order of `symbols`."""
        values = list(row)
        push = values.append
        try:
            for step in self._steps:
                push(step(values))
        except ZeroDivisionError:
            msg = "division by zero while evaluating"
            raise SymbolError(msg) from None
        return [values[slot] for slot in self._outputs]


def _postorder(roots: Sequence[Expr]) -> list[Expr]:
    order: dict[Expr, None] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if node in order:
            continue
        if ready or not node.args:
            order[node] = None
            continue
        stack.append((node, True))
        stack.extend([(arg, False) for arg in reversed(node.args)])
    return list(order)


def _compile(node: Expr, slots: list[int]) -> Step:
    kind = node.kind
    if kind is Kind.CONST:
        value = node.const
        return lambda _: value
    if kind is Kind.SUM:
        return _compile_sum(slots, node.coeffs, node.const)
    if kind is Kind.FLOORDIV:
        return _compile_floordiv(node, slots)
    if kind is Kind.SELECT:
        c, a, b = slots
        return lambda v: v[a] if v[c] else v[b]
    if kind in _TESTS:
        test, slot = _TESTS[kind], slots[0]
        return lambda v: int(test(v[slot], 0))
    if kind in _FOLDS:
        return _compile_fold(_FOLDS[kind], slots)
    choose = min if kind is Kind.MIN else max
    return lambda v: choose([v[slot] for slot in slots])


_TESTS: Mapping[Kind, Callable[[int, int], bool]] = {
    Kind.GE: operator.ge,
    Kind.EQ: operator.eq,
    Kind.NE: operator.ne,
}
_FOLDS: Mapping[Kind, Callable[[int, int], int]] = {
    Kind.PRODUCT: int.__mul__,
    Kind.XOR: int.__xor__,
    Kind.AND: int.__and__,
    Kind.OR: int.__or__,
}


def _compile_sum(slots: list[int], coeffs: tuple[int, ...], const: int) -> Step:
    if len(slots) == 1:
        (a,), (p,) = slots, coeffs
        return lambda v: p * v[a] + const
    if len(slots) == 2:
        (a, b), (p, q) = slots, coeffs
        return lambda v: p * v[a] + q * v[b] + const
    rows = tuple(zip(slots, coeffs, strict=True))

    def total(values: list[int]) -> int:
        result = const
        for slot, coeff in rows:
            result += coeff * values[slot]
        return result

    return total


def _compile_floordiv(node: Expr, slots: list[int]) -> Step:
    a, b = slots
    if node.args[1].kind is Kind.CONST:
        divisor = node.args[1].const
        return lambda v: v[a] // divisor
    return lambda v: v[a] // v[b]


def _compile_fold(combine: Callable[[int, int], int], slots: list[int]) -> Step:
    if len(slots) == 2:
        a, b = slots
        return lambda v: combine(v[a], v[b])

    def fold(values: list[int]) -> int:
        result = values[slots[0]]
        for slot in slots[1:]:
            result = combine(result, values[slot])
        return result

    return fold
