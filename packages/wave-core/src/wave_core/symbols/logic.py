"""Builders that are not arithmetic: min, max, select, xor, comparisons, booleans.

Booleans are the integers 0 and 1. A comparison is kept as one sum compared with zero.
"""

from __future__ import annotations

import operator
from math import gcd
from typing import TYPE_CHECKING

from wave_core.symbols.error import SymbolError
from wave_core.symbols.expr import (
    Expr,
    add,
    as_expr,
    constant,
    from_linear,
    intern_node,
    linear_parts,
    scale,
    subtract,
)
from wave_core.symbols.node import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

PAIRWISE_LIMIT = 6
"""Arguments of min or max up to which every pair is compared when building."""

_KEY = operator.attrgetter("key")


# ---- minimum and maximum


def minimum(*values: Expr | int) -> Expr:
    """The smallest of the values."""
    return _extremum(Kind.MIN, values)


def maximum(*values: Expr | int) -> Expr:
    """The largest of the values."""
    return _extremum(Kind.MAX, values)


def absolute(value: Expr | int) -> Expr:
    """The value without its sign."""
    value = as_expr(value)
    return maximum(value, -value)


def _flatten(kind: Kind, values: Iterable[Expr | int]) -> list[Expr]:
    found: dict[Expr, None] = {}
    for given in values:
        value = as_expr(given)
        parts = value.args if value.kind is kind else (value,)
        found.update(dict.fromkeys(parts))
    return list(found)


def _extremum(kind: Kind, values: tuple[Expr | int, ...]) -> Expr:
    parts = _flatten(kind, values)
    if not parts:
        msg = "min and max need at least one value"
        raise SymbolError(msg)
    parts = _fold_constants(kind, parts)
    if len(parts) <= PAIRWISE_LIMIT:
        parts = _drop_dominated(kind, parts)
    if len(parts) == 1:
        return parts[0]
    parts.sort(key=_KEY)
    flags = [part.nonnegative for part in parts]
    nonnegative = all(flags) if kind is Kind.MIN else any(flags)
    return intern_node(kind, tuple(parts), nonnegative=nonnegative)


def _fold_constants(kind: Kind, parts: list[Expr]) -> list[Expr]:
    numbers = [part.const for part in parts if part.is_constant]
    if len(numbers) < 2:
        return parts
    best = min(numbers) if kind is Kind.MIN else max(numbers)
    return [part for part in parts if not part.is_constant] + [constant(best)]


def _drop_dominated(kind: Kind, parts: list[Expr]) -> list[Expr]:
    kept: list[Expr] = []
    for part in parts:
        if any(_dominates(kind, other, part) for other in kept):
            continue
        kept = [other for other in kept if not _dominates(kind, part, other)]
        kept.append(part)
    return kept


def _dominates(kind: Kind, winner: Expr, loser: Expr) -> bool:
    if kind is Kind.MIN:
        winner, loser = loser, winner
    difference = subtract(winner, loser)
    return difference.nonnegative or _is_of_quotients(difference)


def _is_of_quotients(difference: Expr) -> bool:
    """Whether it is ``a // d - b // d + k``, and ``a + k d`` is no less than ``b``."""
    terms, coeffs, shift = linear_parts(difference)
    if sorted(coeffs) != [-1, 1] or any(t.kind is not Kind.FLOORDIV for t in terms):
        return False
    greater, less = terms if coeffs[0] > 0 else terms[::-1]
    (a, divisor), (b, other) = greater.args, less.args
    if divisor is not other or not divisor.is_constant or divisor.const < 1:
        return False
    return add(subtract(a, b), shift * divisor.const).nonnegative


# ---- select and xor


def select(condition: Expr | int, yes: Expr | int, no: Expr | int) -> Expr:
    """`yes` where the condition is not zero, else `no`; both must have a value."""
    condition = truth(condition)
    yes = as_expr(yes)
    no = as_expr(no)
    if condition.is_constant:
        return yes if condition.const else no
    if yes.kind is Kind.SELECT and yes.args[0] is condition:
        yes = yes.args[1]
    if no.kind is Kind.SELECT and no.args[0] is condition:
        no = no.args[2]
    if yes is no:
        return yes
    if yes.is_constant and no.is_constant and {yes.const, no.const} == {0, 1}:
        return condition if yes.const else logical_not(condition)
    nonnegative = yes.nonnegative and no.nonnegative
    return intern_node(Kind.SELECT, (condition, yes, no), nonnegative=nonnegative)


def xor(*values: Expr | int) -> Expr:
    """Bitwise exclusive or, on two's complement numbers of any length."""
    number = 0
    odd: dict[Expr, None] = {}
    for given in values:
        value = as_expr(given)
        for part in value.args if value.kind is Kind.XOR else (value,):
            if part.is_constant:
                number ^= part.const
            elif part in odd:
                del odd[part]
            else:
                odd[part] = None
    if number < 0:
        return subtract(-1, _xor_parts(list(odd), ~number))
    return _xor_parts(list(odd), number)


def _xor_parts(parts: list[Expr], number: int) -> Expr:
    if not parts:
        return constant(number)
    if len(parts) == 1 and number == 0:
        return parts[0]
    common = gcd(number, *[gcd(*p[1], p[2]) for p in map(linear_parts, parts)])
    power = common & -common
    if power > 1:
        # Low bits that are zero in every argument stay zero.
        return scale(xor(number // power, *[p // power for p in parts]), power)
    ordered = sorted(parts, key=_KEY)
    if number:
        ordered.insert(0, constant(number))
    nonnegative = all(part.nonnegative for part in ordered)
    return intern_node(Kind.XOR, tuple(ordered), nonnegative=nonnegative)


# ---- comparisons


def ge(a: Expr | int, b: Expr | int) -> Expr:
    """1 where a >= b, else 0."""
    return nonnegative_test(subtract(as_expr(a), b))


def le(a: Expr | int, b: Expr | int) -> Expr:
    """1 where a <= b, else 0."""
    return ge(b, a)


def gt(a: Expr | int, b: Expr | int) -> Expr:
    """1 where a > b, else 0."""
    return nonnegative_test(add(subtract(as_expr(a), b), -1))


def lt(a: Expr | int, b: Expr | int) -> Expr:
    """1 where a < b, else 0."""
    return gt(b, a)


def eq(a: Expr | int, b: Expr | int) -> Expr:
    """1 where a equals b, else 0."""
    return zero_test(subtract(as_expr(a), b))


def ne(a: Expr | int, b: Expr | int) -> Expr:
    """1 where a differs from b, else 0."""
    return logical_not(eq(a, b))


def nonnegative_test(value: Expr) -> Expr:
    """1 where the value is >= 0, else 0."""
    terms, coeffs, const = linear_parts(value)
    if not terms:
        return constant(int(const >= 0))
    if len(terms) == 1 and terms[0].is_boolean:
        return _choose(terms[0], when_zero=const >= 0, when_one=coeffs[0] + const >= 0)
    common = gcd(*coeffs)
    if common > 1:
        reduced = {t: c // common for t, c in zip(terms, coeffs, strict=True)}
        value = from_linear(reduced, const // common)
    if value.nonnegative:
        return constant(1)
    if _is_negative(value):
        return constant(0)
    return intern_node(Kind.GE, (value,), nonnegative=True)


def _is_negative(value: Expr) -> bool:
    """Whether `-1 - value` is known to be >= 0 from the structure; it is not made."""
    terms, coeffs, const = linear_parts(value)
    return const < 0 and max(coeffs) < 0 and all(term.nonnegative for term in terms)


def zero_test(value: Expr) -> Expr:
    """1 where the value is 0, else 0."""
    terms, coeffs, const = linear_parts(value)
    if not terms:
        return constant(int(const == 0))
    if len(terms) == 1 and terms[0].is_boolean:
        return _choose(terms[0], when_zero=const == 0, when_one=coeffs[0] + const == 0)
    common = gcd(*coeffs)
    if const % common:
        return constant(0)
    common = common if coeffs[0] > 0 else -common
    if common != 1:
        reduced = {t: c // common for t, c in zip(terms, coeffs, strict=True)}
        value = from_linear(reduced, const // common)
    if add(value, -1).nonnegative or _is_negative(value):
        return constant(0)
    return intern_node(Kind.EQ, (value,), nonnegative=True)


def _choose(flag: Expr, *, when_zero: bool, when_one: bool) -> Expr:
    """The boolean with the given values where `flag` is 0 and 1."""
    if when_zero == when_one:
        return constant(int(when_zero))
    return flag if when_one else logical_not(flag)


# ---- booleans


def truth(value: Expr | int) -> Expr:
    """1 where the value is not zero, else 0; a boolean is returned as it is."""
    value = as_expr(value)
    return value if value.is_boolean else ne(value, 0)


def logical_not(value: Expr | int) -> Expr:
    """1 where the value is zero, else 0; pushed down to the comparisons."""
    value = as_expr(value)
    kind = value.kind
    if kind is Kind.GE:
        return nonnegative_test(subtract(-1, value.args[0]))
    if kind is Kind.EQ:
        return intern_node(Kind.NE, value.args, nonnegative=True)
    if kind is Kind.NE:
        return intern_node(Kind.EQ, value.args, nonnegative=True)
    if kind is Kind.AND:
        return logical_or(*[logical_not(arg) for arg in value.args])
    if kind is Kind.OR:
        return logical_and(*[logical_not(arg) for arg in value.args])
    if kind is Kind.SELECT and value.is_boolean:
        condition, yes, no = value.args
        return select(condition, logical_not(yes), logical_not(no))
    return zero_test(value)


def logical_and(*values: Expr | int) -> Expr:
    """1 where every value is not zero, else 0."""
    return _junction(Kind.AND, values, neutral=1)


def logical_or(*values: Expr | int) -> Expr:
    """1 where any value is not zero, else 0."""
    return _junction(Kind.OR, values, neutral=0)


def _junction(kind: Kind, values: tuple[Expr | int, ...], neutral: int) -> Expr:
    found: dict[Expr, None] = {}
    for part in _flatten(kind, [truth(value) for value in values]):
        if part.is_constant:
            if part.const != neutral:
                return part
        elif found and logical_not(part) in found:
            return constant(1 - neutral)
        else:
            found[part] = None
    if not found:
        return constant(neutral)
    if len(found) == 1:
        return next(iter(found))
    ordered = tuple(sorted(found, key=_KEY))
    return intern_node(kind, ordered, nonnegative=True)


def conjuncts(condition: Expr | None) -> tuple[Expr, ...]:
    """The conditions that have to hold together; none for ``None``."""
    if condition is None:
        return ()
    return condition.args if condition.kind is Kind.AND else (condition,)
