"""Numeric bounds and known divisors of expressions, given what holds of symbols."""

from __future__ import annotations

from math import gcd, lcm
from typing import TYPE_CHECKING

from wave_core.symbols.expr import linear_parts, subtract
from wave_core.symbols.node import Kind
from wave_core.symbols.ranges import (
    BOOLEAN,
    NONNEGATIVE,
    UNKNOWN,
    Interval,
    interval_max,
    interval_min,
    interval_xor,
    weighted,
)
from wave_core.symbols.remainder import Part, Remainder, split_remainders

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.symbols.expr import Expr


class Bounds:
    """Answers how large an expression can be and what divides it; remembers answers.

    Args:
        ranges: Numeric range of single nodes, mostly symbols.
        inequalities: Expressions known to be >= 0.
        residues: (modulus, rest) of nodes whose remainder is known; a sum is listed
            without its constant term.
    """

    def __init__(
        self,
        ranges: Mapping[Expr, Interval],
        inequalities: Iterable[Expr],
        residues: Mapping[Expr, tuple[int, int]],
    ) -> None:
        self._ranges = ranges
        self._residues = residues
        self._intervals: dict[Expr, Interval] = {}
        self._known_divisors: dict[Expr, int] = {}
        self._splits: dict[Expr, tuple[int, tuple[tuple[Part, int], ...]]] = {}
        self.about: dict[Expr, list[Expr]] = {}
        for inequality in inequalities:
            for term in linear_parts(inequality)[0]:
                self.about.setdefault(term, []).append(inequality)

    def split(self, value: Expr) -> tuple[int, tuple[tuple[Part, int], ...]]:
        """Constant and parts of a sum; see `split_remainders`."""
        found = self._splits.get(value)
        if found is None:
            found = self._splits[value] = split_remainders(value)
        return found

    # ---- intervals

    def interval(self, value: Expr) -> Interval:
        """An interval that contains every value of the expression."""
        found = self._intervals.get(value)
        if found is not None:
            return found
        base = NONNEGATIVE if value.nonnegative else UNKNOWN
        base = base.intersect(self._ranges.get(value, UNKNOWN))
        # Inequalities may lead back here: until done, the base is the answer.
        self._intervals[value] = base
        result = base.intersect(self._computed(value))
        if value in self.about:
            result = result.intersect(self._related(value))
        self._intervals[value] = result
        return result

    def _computed(self, value: Expr) -> Interval:
        kind = value.kind
        if not value.args:
            known = kind is Kind.CONST
            return Interval(value.const, value.const) if known else UNKNOWN
        if kind is Kind.SUM:
            return self._total(value)
        return BOOLEAN if value.is_boolean else self._operation(value)

    def _operation(self, value: Expr) -> Interval:
        kind = value.kind
        items = [self.interval(arg) for arg in value.args]
        if kind is Kind.FLOORDIV:
            return items[0].floordiv(self._divisors(value.args[1]))
        if kind is Kind.PRODUCT:
            return _product(value.args, items)
        if kind is Kind.SELECT:
            return items[1].union(items[2])
        if kind is Kind.XOR:
            return interval_xor(items)
        return interval_min(items) if kind is Kind.MIN else interval_max(items)

    def _divisors(self, value: Expr) -> Interval:
        """What an expression is as a divisor: no smaller than what divides it."""
        known = self.interval(value)
        if known.lo is None or known.lo < 0:
            return known
        return known.intersect(Interval(self.divisor(value)))

    def _total(self, value: Expr) -> Interval:
        terms, coeffs, const = linear_parts(value)
        raw = weighted(const, zip(map(self.interval, terms), coeffs, strict=True))
        if len(terms) < 2:
            return raw
        const, parts = self.split(value)
        return raw.intersect(
            weighted(const, [(self.part(part), factor) for part, factor in parts])
        )

    def part(self, part: Part) -> Interval:
        """The interval of a term, also of a remainder."""
        if not isinstance(part, Remainder):
            return self.interval(part)
        if not part.modulus.is_constant:
            modulus = self.interval(part.modulus)
            if modulus.lo is None or modulus.lo < 0:
                return UNKNOWN
            return Interval(0, None if modulus.hi is None else modulus.hi - 1)
        modulus = part.modulus.const
        known = self.residue(part.base, modulus)
        if known is not None:
            return Interval(known, known)
        inside = self.interval(part.base).remainder(modulus)
        step = gcd(self.divisor(part.base), modulus)
        return inside.intersect(Interval(0, modulus - step))

    def _related(self, value: Expr) -> Interval:
        """The limits that inequalities set to a node which they name."""
        result = UNKNOWN
        for inequality in self.about[value]:
            terms, coeffs, _ = linear_parts(inequality)
            coeff = coeffs[terms.index(value)]
            rest = subtract(inequality, value * coeff)
            limit = self.interval(rest).hi
            if limit is None:
                continue
            if coeff < 0:
                result = result.intersect(Interval(None, limit // -coeff))
            else:
                result = result.intersect(Interval(-(limit // coeff), None))
        return result

    # ---- divisibility

    def divisor(self, value: Expr) -> int:
        """An integer known to divide the expression, 0 when the expression is 0."""
        found = self._known_divisors.get(value)
        if found is None:
            found = self._divisor(value)
            const = linear_parts(value)[2]
            told = self._residues.get(value - const)
            if told is not None:
                found = lcm(found, gcd(told[0], told[1] + const))
            self._known_divisors[value] = found
        return found

    def residue(self, value: Expr, modulus: int) -> int | None:
        """The remainder of the value by an integer, when it is known."""
        const = linear_parts(value)[2]
        node = value - const
        told = self._residues.get(node)
        if told is not None and told[0] % modulus == 0:
            return (told[1] + const) % modulus
        return const % modulus if self.divisor(node) % modulus == 0 else None

    def _divisor(self, value: Expr) -> int:
        kind = value.kind
        if kind is Kind.CONST:
            return abs(value.const)
        if kind is Kind.SUM:
            return self._sum_divisor(value)
        if kind is Kind.PRODUCT:
            result = 1
            for arg in value.args:
                result *= self.divisor(arg)
            return result
        if kind is Kind.FLOORDIV and value.args[1].is_constant:
            above, below = self.divisor(value.args[0]), value.args[1].const
            return above // below if above % below == 0 else 1
        if kind in (Kind.MIN, Kind.MAX):
            return gcd(*[self.divisor(arg) for arg in value.args])
        if kind is Kind.SELECT:
            return gcd(self.divisor(value.args[1]), self.divisor(value.args[2]))
        if kind is Kind.XOR:
            common = gcd(*[self.divisor(arg) for arg in value.args])
            return common & -common
        return 1

    def _sum_divisor(self, value: Expr) -> int:
        terms, coeffs, const = linear_parts(value)
        rows = zip(terms, coeffs, strict=True)
        raw = gcd(const, *[self.divisor(term) * coeff for term, coeff in rows])
        if len(terms) < 2:
            return raw
        const, parts = self.split(value)
        return lcm(raw, gcd(const, *[self.part_divisor(p) * f for p, f in parts]))

    def part_divisor(self, part: Part) -> int:
        """An integer known to divide a term, also a remainder."""
        if isinstance(part, Remainder):
            return gcd(self.divisor(part.base), self.divisor(part.modulus))
        return self.divisor(part)


def _product(factors: tuple[Expr, ...], items: list[Interval]) -> Interval:
    """The interval of a product; equal neighbours are squares."""
    result = Interval(1, 1)
    index = 0
    while index < len(factors):
        paired = index + 1 < len(factors) and factors[index] is factors[index + 1]
        result = result * (items[index].square() if paired else items[index])
        index += 2 if paired else 1
    return result
