"""Finds remainders again in sums, where `x % d` is stored as `x - d*(x // d)`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from wave_core.symbols.division import floordiv
from wave_core.symbols.expr import (
    Expr,
    as_expr,
    linear_parts,
    monomial_factors,
    multiply,
)
from wave_core.symbols.node import Kind

DIVISOR_LIMIT = 4096
"""Moduli above this are tried only when they are the whole divisor."""


@dataclass(frozen=True, slots=True)
class Remainder:
    """The value base % modulus, as one term of a sum."""

    base: Expr
    modulus: Expr


Part = Expr | Remainder


def split_remainders(value: Expr) -> tuple[int, tuple[tuple[Part, int], ...]]:
    """The constant term and the other terms with factors, remainders made visible.

    The parts add up to `value`; there are never more of them than terms.
    """
    terms, coeffs, const = linear_parts(value)
    raw = tuple(zip(terms, coeffs, strict=True))
    if len(raw) < 2:
        return const, raw
    search = _Search(dict(raw), const)
    search.run()
    if not search.found or len(search.found) + len(search.left) > len(raw):
        return const, raw
    return search.const, (*search.left.items(), *search.found)


class _Search:
    """Takes remainders out of a sum, one quotient at a time."""

    def __init__(self, terms: dict[Expr, int], const: int) -> None:
        self.left = terms
        self.const = const
        self.found: list[tuple[Part, int]] = []

    def run(self) -> None:
        if len(self.left) < 2:
            return
        quotients: list[Expr] = []
        symbolic: dict[Expr, None] = {}
        for term in self.left:
            for factor in monomial_factors(term):
                if factor.kind is not Kind.FLOORDIV:
                    continue
                if not factor.args[1].is_constant:
                    symbolic[factor] = None
                elif factor is term:
                    quotients.append(factor)
        # Outer quotients first, then those of the coarsest digit.
        quotients.sort(key=lambda q: (q.depth, q.args[1].const), reverse=True)
        for quotient in quotients:
            self._take_constant(quotient)
        for quotient in sorted(symbolic, key=lambda q: q.depth, reverse=True):
            self._take_symbolic(quotient)

    def _take_constant(self, quotient: Expr) -> None:
        above, below = quotient.args
        coeff = self.left.get(quotient, 0)
        if not coeff:
            return
        for modulus in _divisors(gcd(below.const, coeff)):
            base = floordiv(above, below.const // modulus)
            factor = -coeff // modulus
            if self._fits(base, factor, below.const) and (
                floordiv(base, modulus) is quotient
            ):
                del self.left[quotient]
                self._record(base, modulus, factor)
                return

    def _take_symbolic(self, quotient: Expr) -> None:
        above, below = quotient.args
        terms, coeffs, _ = linear_parts(multiply(below, quotient))
        factor = -self.left.get(terms[0], 0) // coeffs[0]
        if not factor or not self._fits(above, factor, 0):
            return
        rows = tuple(zip(terms, coeffs, strict=True))
        if all(self.left.get(t, 0) == -factor * c for t, c in rows):
            for term in terms:
                del self.left[term]
            self._record(above, below, factor)

    def _fits(self, base: Expr, factor: int, finer_than: int) -> bool:
        """True when taking factor*base away makes the sum smaller, now or later."""
        terms, coeffs, _ = linear_parts(base)
        for term, coeff in zip(terms, coeffs, strict=True):
            have = self.left.get(term, 0)
            if not have:
                return False
            later = term.kind is Kind.FLOORDIV and (
                term.args[1].is_constant and term.args[1].const < finer_than
            )
            if not later and abs(have - factor * coeff) >= abs(have):
                return False
        return bool(terms)

    def _record(self, base: Expr, modulus: Expr | int, factor: int) -> None:
        from_terms, coeffs, const = linear_parts(base)
        for term, coeff in zip(from_terms, coeffs, strict=True):
            left = self.left.get(term, 0) - factor * coeff
            if left:
                self.left[term] = left
            else:
                self.left.pop(term, None)
        self.const -= factor * const
        self.found.append((Remainder(base, as_expr(modulus)), factor))


@lru_cache(maxsize=1024)
def _divisors(value: int) -> tuple[int, ...]:
    """The divisors above 1, smallest first."""
    if value > DIVISOR_LIMIT:
        return (value,)
    small = [d for d in range(2, int(value**0.5) + 1) if value % d == 0]
    large = [value // d for d in reversed(small) if d * d != value]
    return (*small, *large, value) if value > 1 else ()
