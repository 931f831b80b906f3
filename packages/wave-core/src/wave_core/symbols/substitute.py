"""Simultaneous substitution and rebuilding of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.symbols.division import floordiv
from wave_core.symbols.error import SymbolError
from wave_core.symbols.expr import Expr, as_expr, combine, product
from wave_core.symbols.logic import (
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    nonnegative_test,
    select,
    xor,
    zero_test,
)
from wave_core.symbols.node import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


def _product(*factors: Expr) -> Expr:
    return product(factors)


def _nonzero_test(value: Expr) -> Expr:
    return logical_not(zero_test(value))


_BUILDERS: Mapping[Kind, Callable[..., Expr]] = {
    Kind.PRODUCT: _product,
    Kind.FLOORDIV: floordiv,
    Kind.XOR: xor,
    Kind.MIN: minimum,
    Kind.MAX: maximum,
    Kind.SELECT: select,
    Kind.GE: nonnegative_test,
    Kind.EQ: zero_test,
    Kind.NE: _nonzero_test,
    Kind.AND: logical_and,
    Kind.OR: logical_or,
}


def rebuild(node: Expr, args: Sequence[Expr]) -> Expr:
    """The node of the same operation on other arguments."""
    if node.kind is Kind.SUM:
        return combine(zip(args, node.coeffs, strict=True), node.const)
    return _BUILDERS[node.kind](*args)


def substitute_all(
    exprs: Iterable[Expr], mapping: Mapping[Expr, Expr | int]
) -> tuple[Expr, ...]:
    """Replaces every key of `mapping` in all expressions at once.

    Keys are usually symbols; any other node is replaced where it occurs as a whole.
    In a select whose condition becomes constant, only the branch taken is built.

    Raises:
        SymbolError: A divisor became zero, or a key is a constant.
    """
    memo = {key: as_expr(value) for key, value in mapping.items()}
    touched: set[Expr] = set()
    for key in mapping:
        if key.is_constant:
            msg = f"cannot substitute for the constant {key}"
            raise SymbolError(msg)
        touched |= key.free_symbols
    return tuple([_substitute(expr, memo, touched) for expr in exprs])


def substitute_symbols(expr: Expr, mapping: Mapping[Expr, Expr | int]) -> Expr:
    """Replaces some symbols at once."""
    memo = {key: as_expr(value) for key, value in mapping.items()}
    return _substitute(expr, memo, {*memo})


def _substitute(node: Expr, memo: dict[Expr, Expr], touched: set[Expr]) -> Expr:
    found = memo.get(node)
    if found is not None:
        return found
    if node.free_symbols.isdisjoint(touched):
        return node
    if node.kind is Kind.SELECT:
        condition = _substitute(node.args[0], memo, touched)
        if condition.is_constant:
            taken = node.args[1] if condition.const else node.args[2]
            result = memo[node] = _substitute(taken, memo, touched)
            return result
    args: list[Expr] = []
    changed = False
    for arg in node.args:
        new = _substitute(arg, memo, touched)
        changed = changed or new is not arg
        args.append(new)
    result = memo[node] = rebuild(node, args) if changed else node
    return result
