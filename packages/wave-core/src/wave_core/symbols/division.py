"""Division of expressions: floor, ceiling and remainder.

What the divisor divides is taken out of the numerator, common factors are cancelled
and nested floors are merged, so that `x - d*(x // d)` and `x % d` are one node.
"""

from __future__ import annotations

from math import gcd

from wave_core.symbols.error import SymbolError
from wave_core.symbols.expr import (
    TABLE,
    Expr,
    add,
    as_expr,
    combine,
    constant,
    from_linear,
    intern_node,
    linear_parts,
    monomial,
    monomial_factors,
    multiply,
    scale,
    subtract,
)
from wave_core.symbols.node import Kind

_CONST = Kind.CONST
_SUM = Kind.SUM
_FLOORDIV = Kind.FLOORDIV
_UNIT = (1,)


def mod(a: Expr | int, b: Expr | int) -> Expr:
    """A - b*(a // b): the remainder with the sign of `b`, as in Python."""
    a = as_expr(a)
    return subtract(a, multiply(b, floordiv(a, b)))


def ceildiv(a: Expr | int, b: Expr | int) -> Expr:
    """The quotient rounded towards plus infinity."""
    return scale(floordiv(scale(as_expr(a), -1), b), -1)


def floordiv(a: Expr | int, b: Expr | int) -> Expr:
    """The quotient rounded towards minus infinity, as in Python.

    Raises:
        SymbolError: `b` is the constant zero.
    """
    num = as_expr(a)
    den = as_expr(b)
    found = TABLE.memo.get((num, den))
    if found is not None:
        return found
    if den.kind is not _CONST:
        result = _divide_symbolic(num, den)
    elif den.const == 0:
        msg = f"division of {num} by zero"
        raise SymbolError(msg)
    elif den.const < 0:
        result = _divide_constant(scale(num, -1), -den.const)
    else:
        result = _divide_constant(num, den.const)
    return TABLE.remember((num, den), result)


def _truncate(value: int, divisor: int) -> tuple[int, int]:
    """Quotient and remainder rounded towards zero, for a positive divisor."""
    quotient = abs(value) // divisor
    quotient = quotient if value >= 0 else -quotient
    return quotient, value - quotient * divisor


def _divide_constant(num: Expr, d: int) -> Expr:
    """Floor of num / d for d > 0, after taking out what `d` divides."""
    if d == 1:
        return num
    terms, coeffs, const = linear_parts(num)
    outer: dict[Expr, int] = {}
    inner: dict[Expr, int] = {}
    common = d
    for term, coeff in zip(terms, coeffs, strict=True):
        quotient, rest = _truncate(coeff, d)
        if quotient:
            outer[term] = quotient
        if rest:
            inner[term] = rest
            common = gcd(common, rest)
    whole, const = divmod(const, d)
    if not inner:
        return from_linear(outer, whole)
    if common > 1:
        inner = {term: coeff // common for term, coeff in inner.items()}
    rest_sum = from_linear(inner, const // common)
    quotient_part = _divide_reduced(rest_sum, d // common)
    if not outer and not whole:
        return quotient_part
    return add(quotient_part, from_linear(outer, whole))


def _divide_reduced(num: Expr, d: int) -> Expr:
    """Floor of num / d, where every coefficient is smaller than `d`."""
    if d == 1:
        return num
    terms, coeffs, const = linear_parts(num)
    if (coeffs[0] < 0) != is_ceiling(terms[0]):
        # One of x // d and -((-x) // d) must go: keep the one that starts positive.
        flipped = add(scale(num, -1), d - 1)
        return scale(_divide_reduced(flipped, d), -1)
    if coeffs == _UNIT and terms[0].kind is _FLOORDIV:
        above, below = terms[0].args
        if below.kind is _CONST:
            shifted = add(above, const * below.const)
            return _divide_constant(shifted, d * below.const)
        if const == 0:
            return floordiv(above, scale(below, d))
    if num.kind is not _SUM and num.is_boolean:
        return constant(0)
    return _intern_floordiv(num, constant(d))


def is_ceiling(value: Expr) -> bool:
    """True for (-x) // n with n not constant, which is -ceildiv(x, n)."""
    if value.kind is not _FLOORDIV or value.args[1].kind is _CONST:
        return False
    _, coeffs, const = linear_parts(value.args[0])
    return const <= 0 and max(coeffs, default=-1) < 0


def _intern_floordiv(num: Expr, den: Expr) -> Expr:
    nonnegative = num.nonnegative and den.nonnegative
    return intern_node(_FLOORDIV, (num, den), nonnegative=nonnegative)


def _divide_symbolic(num: Expr, den: Expr) -> Expr:
    """Floor of num / den for a divisor that is not a constant."""
    if linear_parts(den)[1][0] < 0:
        num, den = scale(num, -1), scale(den, -1)
    whole, rest = _take_multiples(num, den)
    if rest.kind is _CONST and rest.const == 0:
        return whole
    rest, reduced = _cancel(rest, den)
    if reduced is not den or reduced.kind is _CONST:
        return add(whole, floordiv(rest, reduced))
    if rest.kind is _FLOORDIV and den.nonnegative:
        above, below = rest.args
        return add(whole, floordiv(above, multiply(below, den)))
    return add(whole, _intern_floordiv(rest, den))


def _take_multiples(num: Expr, den: Expr) -> tuple[Expr, Expr]:
    """Splits num into quotient*den + rest, by looking at the terms only."""
    if den.kind is _SUM and (len(den.args) > 1 or den.const):
        return _take_sum_multiple(num, den)
    (base,), (unit,), _ = linear_parts(den)
    wanted = monomial_factors(base)
    outer: list[tuple[Expr, int]] = []
    terms, coeffs, _ = linear_parts(num)
    for term, coeff in zip(terms, coeffs, strict=True):
        quotient = _truncate(coeff, unit)[0]
        left = _without(monomial_factors(term), wanted) if quotient else None
        if left is not None:
            outer.append((monomial(left), quotient))
    if not outer:
        return constant(0), num
    whole = combine(outer)
    return whole, subtract(num, multiply(whole, den))


def _take_sum_multiple(num: Expr, den: Expr) -> tuple[Expr, Expr]:
    terms, coeffs, const = linear_parts(num)
    lead = den.args[0]
    if lead in terms:
        quotient = _truncate(coeffs[terms.index(lead)], den.coeffs[0])[0]
        rest = subtract(num, scale(den, quotient))
        if len(linear_parts(rest)[0]) + (linear_parts(rest)[2] != 0) < len(terms) + (
            const != 0
        ):
            return constant(quotient), rest
    return constant(0), num


def _without(factors: tuple[Expr, ...], wanted: tuple[Expr, ...]) -> list[Expr] | None:
    """The factors left after removing each wanted one, None if one is missing."""
    left = list(factors)
    for factor in wanted:
        if factor not in left:
            return None
        left.remove(factor)
    return left


def _cancel(num: Expr, den: Expr) -> tuple[Expr, Expr]:
    """Removes the integer and symbol factors that num and den share."""
    terms, coeffs, const = linear_parts(num)
    below, below_coeffs, below_const = linear_parts(den)
    common = gcd(const, below_const, *coeffs, *below_coeffs)
    shared: list[Expr] = []
    if not const and not below_const and terms:
        rows = [monomial_factors(t) for t in (*terms, *below)]
        for factor in dict.fromkeys(rows[0]):
            times = min(row.count(factor) for row in rows)
            shared.extend([factor] * times)
    if common == 1 and not shared:
        return num, den
    wanted = tuple(shared)
    return _reduce(num, wanted, common), _reduce(den, wanted, common)


def _reduce(value: Expr, wanted: tuple[Expr, ...], common: int) -> Expr:
    terms, coeffs, const = linear_parts(value)
    rows: list[tuple[Expr | int, int]] = []
    for term, coeff in zip(terms, coeffs, strict=True):
        left = _without(monomial_factors(term), wanted)
        assert left is not None, "a shared factor divides every term"
        rows.append((monomial(left), coeff // common))
    return combine(rows, const // common)
