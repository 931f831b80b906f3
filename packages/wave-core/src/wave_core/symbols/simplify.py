"""Rewrites expressions to shorter ones that are equal wherever the facts hold."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from wave_core.symbols.division import floordiv
from wave_core.symbols.expr import (
    combine,
    constant,
    linear_parts,
    scale,
    subtract,
    total,
)
from wave_core.symbols.logic import logical_not, maximum, minimum, xor
from wave_core.symbols.node import Kind
from wave_core.symbols.remainder import Part, Remainder
from wave_core.symbols.substitute import rebuild

if TYPE_CHECKING:
    from wave_core.symbols.bounds import Bounds
    from wave_core.symbols.expr import Expr
    from wave_core.symbols.prover import Prover

ROUNDS = 4
"""Times a node is looked at again after it changed."""

_CONDITIONS = frozenset({Kind.GE, Kind.EQ, Kind.NE})


class Simplifier:
    """Simplifies expressions under one set of facts; remembers results."""

    def __init__(self, bounds: Bounds, prover: Prover) -> None:
        self._bounds = bounds
        self._prover = prover
        self._results: dict[Expr, Expr] = {}

    def simplify(self, value: Expr) -> Expr:
        """An expression equal to `value` wherever the facts hold."""
        found = self._results.get(value)
        if found is not None:
            return found
        result = value
        for _ in range(ROUNDS):
            before = result
            result = self._once(before)
            if result is before:
                break
        self._results[value] = result
        return result

    def _once(self, value: Expr) -> Expr:
        if not value.args:
            return self._point(value)
        args: list[Expr] = []
        changed = False
        for arg in value.args:
            new = self.simplify(arg)
            changed = changed or new is not arg
            args.append(new)
        node = rebuild(value, args) if changed else value
        return self._point(self._node(node))

    def _point(self, value: Expr) -> Expr:
        interval = self._bounds.interval(value)
        if interval.lo is not None and interval.is_point:
            return constant(interval.lo)
        return value

    def _node(self, value: Expr) -> Expr:
        kind = value.kind
        if kind is Kind.SUM:
            return self._sum(value)
        if kind is Kind.FLOORDIV:
            return self._floordiv(value)
        if kind is Kind.XOR:
            return self._xor(value)
        if kind is Kind.MIN or kind is Kind.MAX:
            return self._extremum(value)
        if kind is Kind.SELECT:
            return self._select(value)
        if kind in _CONDITIONS:
            return self._condition(value)
        return value

    def _condition(self, value: Expr) -> Expr:
        if self._prover.holds(value):
            return constant(1)
        if self._prover.holds(logical_not(value)):
            return constant(0)
        return value

    def _select(self, value: Expr) -> Expr:
        condition, yes, no = value.args
        if self._prover.holds(condition):
            return yes
        return no if self._prover.holds(logical_not(condition)) else value

    def _extremum(self, value: Expr) -> Expr:
        kept = list(value.args)
        for arg in value.args:
            others = [other for other in kept if other is not arg]
            if others and any(self._beats(value.kind, o, arg) for o in others):
                kept = others
        if len(kept) == len(value.args):
            return value
        return minimum(*kept) if value.kind is Kind.MIN else maximum(*kept)

    def _beats(self, kind: Kind, winner: Expr, loser: Expr) -> bool:
        if kind is Kind.MIN:
            winner, loser = loser, winner
        return self._prover.nonnegative(subtract(winner, loser))

    # ---- quotients and remainders

    def _floordiv(self, value: Expr) -> Expr:
        above, below = value.args
        if below.is_constant:
            kept = self._multiple_part(above, below.const)
            return value if kept is None else floordiv(kept, below)
        low = self._bounds.interval(below).lo
        if low is None or low < 0:
            return value
        # The divisor is positive: zero has no quotient.
        if self._prover.nonnegative(above) and self._prover.nonnegative(
            below - 1 - above
        ):
            return constant(0)
        if self._prover.nonnegative(-1 - above) and self._prover.nonnegative(
            above + below
        ):
            return constant(-1)
        return value

    def _multiple_part(self, value: Expr, divisor: int) -> Expr | None:
        """The part a of value = a + r that decides the quotient by `divisor`.

        For some g | divisor: g | a and 0 <= r < g, so both have the same quotient.
        None when there is no such r but 0.
        """
        const, parts = self._bounds.split(value)
        if not parts:
            return None
        steps = [gcd(self._bounds.part_divisor(p) * f, divisor) for p, f in parts]
        for step in sorted({s for s in steps if s > 1}, reverse=True):
            low = const % step
            inside = [row for row, s in zip(parts, steps, strict=True) if s % step]
            if not low and not inside:
                continue
            interval = self._interval(inside, low)
            if interval[0] >= 0 and interval[1] < step:
                rest = [(_value(part), factor) for part, factor in inside]
                return subtract(value, combine(rest, low))
        return None

    def _interval(self, rows: list[tuple[Part, int]], const: int) -> tuple[int, int]:
        """Bounds of a sum of parts; an impossible pair when one is missing."""
        low = high = const
        for part, factor in rows:
            interval = self._bounds.part(part).scale(factor)
            if interval.lo is None or interval.hi is None:
                return -1, -1
            low += interval.lo
            high += interval.hi
        return low, high

    def _sum(self, value: Expr) -> Expr:
        exact = self._exact_quotients(value)
        if exact is not value:
            return exact
        const, parts = self._bounds.split(value)
        if not any(isinstance(part, Remainder) for part, _ in parts):
            return value
        rows = [(self._part(part), factor) for part, factor in parts]
        return combine(rows, const)

    def _part(self, part: Part) -> Expr:
        """A remainder without the multiples of its modulus that are known."""
        if isinstance(part, Remainder) and part.modulus.is_constant:
            residue = self._bounds.residue(part.base, part.modulus.const)
            if residue is not None:
                return constant(residue)
            interval = self._bounds.interval(part.base)
            modulus = part.modulus.const
            if interval.lo is not None and interval.hi is not None:
                quotient = interval.lo // modulus
                if quotient == interval.hi // modulus:
                    return part.base - quotient * modulus
        return _value(part)

    def _exact_quotients(self, value: Expr) -> Expr:
        """Replaces c*(n // d) by (c/d)*n where d divides both n and c."""
        terms, coeffs, const = linear_parts(value)
        rows: list[tuple[Expr | int, int]] = []
        changed = False
        for term, coeff in zip(terms, coeffs, strict=True):
            if term.kind is Kind.FLOORDIV and term.args[1].is_constant:
                above, below = term.args[0], term.args[1].const
                if coeff % below == 0 and self._bounds.divisor(above) % below == 0:
                    rows.append((above, coeff // below))
                    changed = True
                    continue
            rows.append((term, coeff))
        return combine(rows, const) if changed else value

    # ---- exclusive or

    def _xor(self, value: Expr) -> Expr:
        """Separates low bits from high bits: (8*a + i) ^ (8*b) is 8*(a ^ b) + i."""
        steps: set[int] = set()
        for arg in value.args:
            const, parts = self._bounds.split(arg)
            for number in (
                const,
                *[self._bounds.part_divisor(p) * f for p, f in parts],
            ):
                steps.add(number & -number)
        for step in sorted([s for s in steps if s > 1], reverse=True):
            split = [self._low_bits(arg, step) for arg in value.args]
            lows = [low for low in split if low is not None]
            if len(lows) < len(split):
                continue
            highs = [subtract(a, low) for a, low in zip(value.args, lows, strict=True)]
            if all(h.is_constant and not h.const for h in highs) or all(
                low.is_constant and not low.const for low in lows
            ):
                continue
            low = xor(*lows)
            high = scale(xor(*[floordiv(h, step) for h in highs]), step)
            return total((high, low))
        return value

    def _low_bits(self, value: Expr, step: int) -> Expr | None:
        """The low part in [0, step) of a value that else is a multiple of `step`."""
        const, parts = self._bounds.split(value)
        inside = [
            (part, factor)
            for part, factor in parts
            if self._bounds.part_divisor(part) * factor % step
        ]
        low, high = self._interval(inside, const % step)
        if low < 0 or high >= step:
            return None
        return combine([(_value(p), f) for p, f in inside], const % step)


def _value(part: Part) -> Expr:
    if isinstance(part, Remainder):
        return part.base % part.modulus
    return part
