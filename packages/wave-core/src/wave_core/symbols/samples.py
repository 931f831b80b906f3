"""Points at which facts hold: what fails at one of them does not follow from them.

That nothing proves a condition takes a whole search to find out; a point at which it
fails says so at once. What holds at all of them may still be wrong.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import TYPE_CHECKING
from zlib import crc32

from wave_core.symbols.node import Kind
from wave_core.symbols.ranges import NONNEGATIVE, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from wave_core.symbols.expr import Expr
    from wave_core.symbols.ranges import Interval

    Column = Sequence[int]
    """The values of an expression at all points."""

TRIED = 64
"""Points at which facts are looked at."""

KEPT = 16
"""Points at which conditions are looked at, of those where all facts hold."""

LARGE_BITS = 14
"""Symbols without an upper limit have values of up to so many bits more."""


class Samples:
    """Points at which some facts hold, found when they are first asked.

    Args:
        ranges: Numeric range of single nodes, mostly symbols.
        inequalities: Expressions known to be >= 0.
        residues: (modulus, rest) of nodes whose remainder is known.
        assumed: Conditions known to hold.
    """

    def __init__(
        self,
        ranges: Mapping[Expr, Interval],
        inequalities: Collection[Expr],
        residues: Mapping[Expr, tuple[int, int]],
        assumed: Collection[Expr],
    ) -> None:
        self._ranges, self._inequalities = ranges, inequalities
        self._residues, self._assumed = residues, assumed
        self._points: Sequence[int] | None = None
        self._columns: dict[Expr, Column] = {}
        self._undefined: set[int] = set()

    def refute(self, value: Expr) -> bool:
        """True where a value is negative though the facts hold."""
        if self._points is None:
            self._points = range(TRIED)
            self._move_counters()
            points = self._points = self._where_facts_hold()[:KEPT]
            self._forget_all_but_symbols()
            rows = self._columns.items()
            self._columns = {node: [row[n] for n in points] for node, row in rows}
        found = self._column(value)
        return any(
            number < 0 and place not in self._undefined
            for place, number in enumerate(found)
        )

    # ---- where facts hold

    def _move_counters(self) -> None:
        """Put what counts beyond a limit at its start, or at the limit itself."""
        for value in self._inequalities:
            for term, coeff in zip(value.args, value.coeffs, strict=False):
                low = self._limits(term).lo
                if term.kind is not Kind.SYMBOL or coeff > 0 or low is None:
                    continue
                kept = zip(self._column(term), self._column(value), strict=True)
                moved = [
                    old + min(0, left // -coeff) if point % 2 or left >= 0 else low
                    for point, (old, left) in enumerate(kept)
                ]
                self._forget_all_but_symbols()
                self._columns[term] = [max(low, each) for each in moved]
                break

    def _forget_all_but_symbols(self) -> None:
        rows = self._columns.items()
        self._columns = {node: row for node, row in rows if node.kind is Kind.SYMBOL}
        self._undefined = set()

    def _where_facts_hold(self) -> list[int]:
        held = [all(row) for row in zip(*self._tests(), strict=True)]
        return [n for n, holds in enumerate(held) if holds and n not in self._undefined]

    def _tests(self) -> Iterator[Sequence[bool]]:
        """Whether each fact holds at each point."""
        yield [True] * TRIED
        for node, limits in self._ranges.items():
            if node.kind is not Kind.SYMBOL:  # symbols are made so
                yield [number in limits for number in self._column(node)]
        for value in self._inequalities:
            yield [number >= 0 for number in self._column(value)]
        for value, (modulus, rest) in self._residues.items():
            yield [number % modulus == rest for number in self._column(value)]
        for condition in self._assumed:
            yield [number != 0 for number in self._column(condition)]

    # ---- values

    def _column(self, node: Expr) -> Column:
        found = self._columns.get(node)
        if found is None:
            found = self._columns[node] = self._computed(node)
        return found

    def _computed(self, node: Expr) -> Column:
        assert self._points is not None, "they are there before values are"
        if node.kind is Kind.SYMBOL:
            limits = self._limits(node)
            values = _values(node.name, limits.lo, limits.hi)
            return [values[point] for point in self._points]
        if node.kind is Kind.CONST:
            return [node.const] * len(self._points)
        columns = [self._column(arg) for arg in node.args]
        if node.kind is Kind.SUM:
            return _summed(node, columns)
        if node.kind is Kind.FLOORDIV:
            self._undefined.update(n for n, below in enumerate(columns[1]) if not below)
        return list(map(_APPLY[node.kind], *columns))

    def _limits(self, node: Expr) -> Interval:
        limits = NONNEGATIVE if node.nonnegative else UNKNOWN
        return limits.intersect(self._ranges.get(node, UNKNOWN))


@lru_cache(maxsize=4096)
def _values(name: str, low: int | None, high: int | None) -> Column:
    """Values of a symbol: its limits, numbers near them, and some between."""
    if low is None:
        low = -1 << LARGE_BITS if high is None else high - (1 << LARGE_BITS)
    ends = low + (1 << LARGE_BITS) if high is None else high
    drawn = _draws(name)

    def value() -> int:
        bits = next(drawn) % (LARGE_BITS + 1)
        step = min(next(drawn) % (1 << bits), max(0, ends - low))
        near_end = high is not None and next(drawn) % 4 == 0
        return ends - step if near_end else low + step

    return [low, ends, *(value() for _ in range(TRIED - 2))]


def _draws(name: str) -> Iterator[int]:
    """Numbers without an order, the same ones in every process.

    Source: Press et al., Numerical Recipes, "Quick and Dirty Generators".
    """
    state = crc32(name.encode())
    while True:
        state = (1664525 * state + 1013904223) & 0xFFFFFFFF
        yield state >> 12


def _summed(node: Expr, columns: Sequence[Column]) -> Column:
    found: Column = [node.const] * len(columns[0])
    for column, coeff in zip(columns, node.coeffs, strict=True):
        found = [a + coeff * b for a, b in zip(found, column, strict=True)]
    return found


def _fold(combine: Callable[[int, int], int]) -> Callable[..., int]:
    def fold(*args: int) -> int:
        return reduce(combine, args)

    return fold


def _quotient(above: int, below: int) -> int:
    return above // below if below else 0


def _is_nonnegative(value: int) -> int:
    return int(value >= 0)


def _is_zero(value: int) -> int:
    return int(value == 0)


def _is_not_zero(value: int) -> int:
    return int(value != 0)


def _select(condition: int, yes: int, no: int) -> int:
    return yes if condition else no


_APPLY: Mapping[Kind, Callable[..., int]] = {
    Kind.PRODUCT: _fold(int.__mul__),
    Kind.FLOORDIV: _quotient,
    Kind.XOR: _fold(int.__xor__),
    Kind.MIN: min,
    Kind.MAX: max,
    Kind.SELECT: _select,
    Kind.GE: _is_nonnegative,
    Kind.EQ: _is_zero,
    Kind.NE: _is_not_zero,
    Kind.AND: _fold(int.__and__),
    Kind.OR: _fold(int.__or__),
}
