"""Proofs that a condition always holds: bounds first, then a few elimination steps.

To show e >= 0, a term of e is eliminated with an inequality f >= 0 that names it
(a*e = b*f + e' with a, b > 0, so e' >= 0 suffices), or a min, max or select in e is
replaced by each of its values. Every step is sound; the search is bounded, and
failing means only that nothing is known.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from wave_core.symbols.expr import (
    add,
    linear_parts,
    monomial,
    monomial_factors,
    multiply,
    scale,
    subtract,
)
from wave_core.symbols.node import Kind
from wave_core.symbols.remainder import Remainder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from wave_core.symbols.bounds import Bounds
    from wave_core.symbols.expr import Expr
    from wave_core.symbols.samples import Samples

SEARCH_DEPTH = 4
"""Eliminations in a row."""

SEARCH_BUDGET = 64
"""Goals looked at for one question."""

TERM_LIMIT = 12
"""Goals with more terms than this are not pursued."""


class Prover:
    """Proves conditions from bounds, inequalities and conditions assumed as such."""

    def __init__(
        self, bounds: Bounds, assumed: Collection[Expr], samples: Samples
    ) -> None:
        self._bounds, self._assumed, self._samples = bounds, assumed, samples
        self._answers: dict[Expr, bool] = {}
        self._left = 0

    # ---- conditions

    def holds(self, condition: Expr) -> bool:
        """True when the boolean is proved to be 1."""
        if condition in self._assumed:
            return True
        kind = condition.kind
        if kind is Kind.AND:
            return all(self.holds(arg) for arg in condition.args)
        if kind is Kind.OR:
            return any(self.holds(arg) for arg in condition.args)
        if kind is Kind.SELECT and condition.is_boolean:
            return self.holds(condition.args[1]) and self.holds(condition.args[2])
        return self._comparison(condition)

    def _comparison(self, condition: Expr) -> bool:
        kind = condition.kind
        if kind is Kind.GE:
            return self.nonnegative(condition.args[0])
        if kind is Kind.EQ:
            return self.zero(condition.args[0])
        if kind is Kind.NE:
            return self.nonzero(condition.args[0])
        return self.nonzero(condition)

    def zero(self, value: Expr) -> bool:
        """True when the value is proved to be 0."""
        interval = self._bounds.interval(value)
        if interval.is_point:
            return interval.lo == 0
        const, parts = self._bounds.split(value)
        if const == 0 and all(
            isinstance(part, Remainder) and self._exact(part) for part, _ in parts
        ):
            return True
        return self.nonnegative(value) and self.nonnegative(-value)

    def _exact(self, part: Remainder) -> bool:
        modulus = part.modulus
        if modulus.is_constant:
            return self._bounds.divisor(part.base) % modulus.const == 0
        return False

    def nonzero(self, value: Expr) -> bool:
        """True when the value is proved not to be 0."""
        const = linear_parts(value)[2]
        step = self._bounds.divisor(value - const)
        if const and (step == 0 or const % step):
            return True
        return self.nonnegative(value - 1) or self.nonnegative(-value - 1)

    # ---- inequalities

    def nonnegative(self, value: Expr) -> bool:
        """True when the value is proved to be >= 0."""
        found = self._answers.get(value)
        if found is None:
            found = self._bounded(value) or self._found(value)
            self._answers[value] = found
        return found

    def _bounded(self, value: Expr) -> bool:
        low = self._bounds.interval(value).lo
        return low is not None and low >= 0

    def _found(self, value: Expr) -> bool:
        if self._samples.refute(value):
            return False
        self._left = SEARCH_BUDGET
        return self._search(value, SEARCH_DEPTH, set())

    def _search(self, goal: Expr, depth: int, seen: set[Expr]) -> bool:
        if self._bounded(goal):
            return True
        self._left -= 1
        if depth == 0 or self._left < 0 or goal in seen or self._samples.refute(goal):
            return False
        seen.add(goal)
        terms, coeffs, _ = linear_parts(goal)
        if len(terms) > TERM_LIMIT:
            return False
        rows = sorted(zip(terms, coeffs, strict=True), key=self._hindrance)
        return self._steps(goal, rows, depth, seen)

    def _steps(
        self, goal: Expr, rows: list[tuple[Expr, int]], depth: int, seen: set[Expr]
    ) -> bool:
        """Tries every goal that one step leads to."""
        for term, coeff in rows:
            if self._left <= 0:
                return False
            if term.kind in (Kind.MIN, Kind.MAX, Kind.SELECT) and all(
                self._search(g, depth - 1, seen) for g in _cases(goal, term, coeff)
            ):
                return True
            for rest in self._eliminations(goal, term, coeff):
                if self._search(rest, depth - 1, seen):
                    return True
                if self._left <= 0:
                    return False
        return False

    def _eliminations(self, goal: Expr, term: Expr, coeff: int) -> Iterator[Expr]:
        lifted = self._lifted(goal, term)
        if lifted is not None:
            yield lifted
        for known in self._known(term):
            rest = _eliminate(goal, term, coeff, known)
            if rest is not None:
                yield rest

    def _lifted(self, goal: Expr, term: Expr) -> Expr | None:
        """A goal without the quotient n // t: t*e > -t makes the integer e >= 0."""
        if term.kind is not Kind.FLOORDIV or term.args[1].is_constant:
            return None
        below = term.args[1]
        return goal * below + below - 1 if self._positive(below) else None

    def _hindrance(self, row: tuple[Expr, int]) -> tuple[bool, bool, bool]:
        """Sorts the terms first that keep the goal from being bounded below."""
        term, coeff = row
        low = self._bounds.interval(term).scale(coeff).lo
        return low is not None, low is not None and low >= 0, coeff > 0

    def _known(self, term: Expr) -> Iterator[Expr]:
        """Expressions >= 0 that name the term."""
        yield from self._bounds.about.get(term, ())
        yield from self._axioms(term)
        factors = monomial_factors(term)
        if len(factors) < 2:
            return
        for index, factor in enumerate(factors):
            rest = monomial([*factors[:index], *factors[index + 1 :]])
            low = self._bounds.interval(rest).lo
            if low is None or low < 0:
                continue
            for known in self._bounds.about.get(factor, ()):
                yield multiply(known, rest)
            for known in self._limits(factor):
                yield multiply(known, rest)
        yield from self._quotient_products(factors)

    def _limits(self, factor: Expr) -> Iterator[Expr]:
        interval = self._bounds.interval(factor)
        if interval.hi is not None:
            yield subtract(interval.hi, factor)
        if interval.lo is not None:
            yield subtract(factor, interval.lo)

    def _axioms(self, term: Expr) -> Iterator[Expr]:
        kind = term.kind
        if kind is Kind.MIN:
            yield from [arg - term for arg in term.args]
        elif kind is Kind.MAX:
            yield from [term - arg for arg in term.args]
        elif kind is Kind.FLOORDIV:
            above, below = term.args
            if below.is_constant:
                rest = above - below * term
                yield rest
                yield below - 1 - rest
            elif self._positive(below) and (self._bounds.interval(above).lo or -1) >= 0:
                yield above - term

    def _quotient_products(self, factors: tuple[Expr, ...]) -> Iterator[Expr]:
        """0 <= n - t*floor(n/t) < t, times the size of the product's other factors."""
        for index, factor in enumerate(factors):
            if factor.kind is not Kind.FLOORDIV:
                continue
            above, below = factor.args
            others = [*factors[:index], *factors[index + 1 :]]
            terms = linear_parts(below)[0]
            wanted = monomial_factors(terms[0]) if terms else ()
            if not wanted or any(others.count(w) < wanted.count(w) for w in wanted):
                continue
            for part in wanted:
                others.remove(part)
            outer = self._size(monomial(others))
            if outer is None or not self._positive(below):
                continue
            rest = above - below * factor
            yield multiply(rest, outer)
            yield multiply(below - 1 - rest, outer)

    def _size(self, value: Expr) -> Expr | None:
        """A value, or the negative of it, whichever is proved not to be negative."""
        interval = self._bounds.interval(value)
        if interval.lo is not None and interval.lo >= 0:
            return value
        return -value if interval.hi is not None and interval.hi <= 0 else None

    def _positive(self, divisor: Expr) -> bool:
        # A divisor is never zero where the expression has a value.
        low = self._bounds.interval(divisor).lo
        return low is not None and low >= 0


def _cases(goal: Expr, term: Expr, coeff: int) -> list[Expr]:
    values = term.args[1:] if term.kind is Kind.SELECT else term.args
    rest = subtract(goal, scale(term, coeff))
    return [add(rest, scale(value, coeff)) for value in values]


def _eliminate(goal: Expr, term: Expr, coeff: int, known: Expr) -> Expr | None:
    """The rest of a multiple of the goal after using known >= 0."""
    terms, coeffs, _ = linear_parts(known)
    if term not in terms:
        return None
    other = coeffs[terms.index(term)]
    if (other > 0) != (coeff > 0):
        return None
    common = gcd(coeff, other)
    return subtract(
        scale(goal, abs(other) // common), scale(known, abs(coeff) // common)
    )
