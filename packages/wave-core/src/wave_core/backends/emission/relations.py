"""What a relation of index expressions is compared as: by fewer terms and no sum more.

A relation says something of one sum, which becomes two sums without negative terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wave_core.symbols import Expr, Kind, as_expr, constant, ge

if TYPE_CHECKING:
    from wave_core.symbols import Facts

_TESTS = {Kind.GE: "sge", Kind.EQ: "eq", Kind.NE: "ne"}


class Compared(NamedTuple):
    """Two sums without negative terms, and how they are compared."""

    test: str
    one: Expr
    other: Expr


def compared(relation: Expr) -> Compared:
    """The sides of a relation; ``a >= b + 1`` is ``a > b``, without a sum."""
    const, terms = relation.args[0].linear()
    test = _TESTS[relation.kind]
    if test == "sge" and const < 0:
        test, const = "sgt", const + 1
    one, other = as_expr(max(const, 0)), as_expr(max(-const, 0))
    for term, coeff in terms:
        if coeff > 0:
            one = one + term * coeff
        else:
            other = other - term * coeff
    return Compared(test, one, other)


def coarser(relation: Expr, facts: Facts) -> Expr:
    """The same truth without terms that never decide it.

    Of ``m * a + b >= 0`` the rest ``b`` decides nothing where it stays between two
    neighbouring multiples of ``m``. So every row of a tile asks the tile's number.
    """
    if relation.kind is not Kind.GE:
        return relation
    const, terms = relation.args[0].linear()
    for modulus in sorted({abs(coeff) for _, coeff in terms} - {1}, reverse=True):
        rest, whole = as_expr(const), constant(0)
        for term, coeff in terms:
            if coeff % modulus:
                rest = rest + term * coeff
            else:
                whole = whole + term * (coeff // modulus)
        near = facts.bounds(rest)
        if rest.is_constant or near.lo is None or near.hi is None:
            continue
        if near.lo // modulus == near.hi // modulus:
            return coarser(ge(whole + near.lo // modulus, 0), facts)
    return relation
