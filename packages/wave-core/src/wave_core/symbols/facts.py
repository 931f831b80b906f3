"""Facts about symbols, and the questions that they answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import TYPE_CHECKING

from wave_core.symbols.bounds import Bounds
from wave_core.symbols.division import mod
from wave_core.symbols.error import SymbolError
from wave_core.symbols.expr import Expr, as_expr
from wave_core.symbols.logic import truth
from wave_core.symbols.node import Kind
from wave_core.symbols.prover import Prover
from wave_core.symbols.ranges import UNKNOWN, Interval
from wave_core.symbols.remainder import Remainder, split_remainders
from wave_core.symbols.samples import Samples
from wave_core.symbols.simplify import Simplifier

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, eq=False)
class Facts:
    """An immutable set of facts; every answer holds wherever all facts hold.

    Attributes:
        ranges: Numeric range of single nodes, mostly symbols.
        inequalities: Expressions known to be >= 0.
        residues: (modulus, rest) of nodes whose remainder is known.
        assumed: Conditions known to hold.
    """

    ranges: Mapping[Expr, Interval] = field(default_factory=dict[Expr, Interval])
    inequalities: tuple[Expr, ...] = ()
    residues: Mapping[Expr, tuple[int, int]] = field(
        default_factory=dict[Expr, tuple[int, int]]
    )
    assumed: frozenset[Expr] = frozenset()

    # ---- adding facts

    def with_range(
        self,
        value: Expr,
        lo: Expr | int | None = None,
        hi: Expr | int | None = None,
    ) -> Facts:
        """Adds lo <= value <= hi; None leaves a side open."""
        facts = self
        for limit, sign in ((lo, 1), (hi, -1)):
            if limit is not None:
                facts = facts._with_inequality((value - as_expr(limit)) * sign)
        return facts

    def with_assumption(self, condition: Expr) -> Facts:
        """Adds that a boolean expression is 1."""
        condition = truth(condition)
        if condition.is_constant and condition.const:
            return self
        if condition.kind is Kind.AND:
            facts = self
            for arg in condition.args:
                facts = facts.with_assumption(arg)
            return facts
        facts = Facts(
            self.ranges, self.inequalities, self.residues, self.assumed | {condition}
        )
        if condition.kind is Kind.GE:
            return facts._with_inequality(condition.args[0])
        if condition.kind is Kind.EQ:
            return facts._with_zero(condition.args[0])
        return facts

    def _with_inequality(self, value: Expr) -> Facts:
        """Adds value >= 0, as a range when it limits one node."""
        const, terms = value.linear()
        if len(terms) != 1:
            if value in self.inequalities or not terms:
                return self
            known = (*self.inequalities, value)
            return Facts(self.ranges, known, self.residues, self.assumed)
        ((node, coeff),) = terms
        if coeff > 0:
            limit = Interval(-(const // coeff), None)
        else:
            limit = Interval(None, const // -coeff)
        ranges = dict(self.ranges)
        ranges[node] = ranges.get(node, UNKNOWN).intersect(limit)
        return Facts(ranges, self.inequalities, self.residues, self.assumed)

    def _with_zero(self, value: Expr) -> Facts:
        """Adds value == 0; a single remainder becomes a known divisor."""
        facts = self
        const, parts = split_remainders(value)
        part, factor = parts[0]
        if len(parts) == 1 and isinstance(part, Remainder):
            modulus = part.modulus
            if modulus.is_constant and const % factor == 0:
                rest = -const // factor
                facts = self._with_residue(part.base, modulus.const, rest)
        facts = facts._with_inequality(value)  # noqa: SLF001
        return facts._with_inequality(-value)  # noqa: SLF001

    def _with_residue(self, value: Expr, modulus: int, rest: int) -> Facts:
        """Adds value % modulus == rest."""
        const, _ = value.linear()
        node = value - const
        residues = dict(self.residues)
        known = modulus, (rest - const) % modulus
        residues[node] = _both(residues.get(node, (1, 0)), known)
        return Facts(self.ranges, self.inequalities, residues, self.assumed)

    # ---- questions

    @cached_property
    def _bounds(self) -> Bounds:
        return Bounds(self.ranges, self.inequalities, self.residues)

    @cached_property
    def _prover(self) -> Prover:
        samples = Samples(self.ranges, self.inequalities, self.residues, self.assumed)
        return Prover(self._bounds, self.assumed, samples)

    @cached_property
    def _simplifier(self) -> Simplifier:
        return Simplifier(self._bounds, self._prover)

    def bounds(self, value: Expr | int) -> Interval:
        """An interval that contains every value of the expression."""
        return self._bounds.interval(as_expr(value))

    def divisor(self, value: Expr | int) -> int:
        """An integer known to divide the expression, 0 when the expression is 0."""
        return self._bounds.divisor(as_expr(value))

    def simplify(self, value: Expr | int) -> Expr:
        """An expression equal to `value` wherever the facts hold."""
        return self._simplifier.simplify(as_expr(value))

    def prove(self, condition: Expr | int) -> bool:
        """True when the condition is proved to hold; False means unknown."""
        condition = truth(condition)
        return self._prover.holds(condition) or self._prover.holds(
            self.simplify(condition)
        )

    def prove_nonnegative(self, value: Expr | int) -> bool:
        """True when value >= 0 is proved; False means unknown."""
        value = as_expr(value)
        return self._prover.nonnegative(value) or self._prover.nonnegative(
            self.simplify(value)
        )

    def prove_divisible(self, value: Expr | int, number: Expr | int) -> bool:
        """True when `number` is proved to divide the value; False means unknown.

        Raises:
            SymbolError: `number` is zero.
        """
        value = as_expr(value)
        number = as_expr(number)
        if not number.is_constant:
            return self._prover.zero(self.simplify(mod(value, number)))
        if number.const == 0:
            msg = f"nothing but zero is divisible by zero: {value}"
            raise SymbolError(msg)
        if self.divisor(value) % number.const == 0:
            return True
        return self.divisor(self.simplify(value)) % number.const == 0


def _both(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """The remainder by the common multiple that two known remainders give."""
    common = gcd(a[0], b[0])
    if (a[1] - b[1]) % common:
        # The facts exclude each other; anything holds, so keep the first.
        return a
    step = b[0] // common
    shift = (b[1] - a[1]) // common * pow(a[0] // common, -1, step) if step > 1 else 0
    modulus = a[0] * step
    return modulus, (a[1] + a[0] * shift) % modulus
