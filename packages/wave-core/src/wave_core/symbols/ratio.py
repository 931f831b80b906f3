"""Expressions that scale one symbol: ``3 * K // 4``."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from wave_core.symbols.expr import constant
from wave_core.symbols.node import Kind

if TYPE_CHECKING:
    from wave_core.symbols.expr import Expr


def ratio_of(expr: Expr) -> tuple[Expr, Fraction] | None:
    """The symbol that ``expr`` scales, and by how much; ``None`` for anything else.

    A division counts as one that comes out even.
    """
    scaled, parts = expr, constant(1)
    if expr.kind is Kind.FLOORDIV:
        scaled, parts = expr.args
    const, terms = scaled.linear()
    if const or len(terms) != 1 or not parts.is_constant:
        return None
    ((whole, times),) = terms
    plain = whole.name and times > 0
    return (whole, Fraction(times, parts.constant_value)) if plain else None
