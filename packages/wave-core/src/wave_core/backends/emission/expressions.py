"""Index expressions as integer operations, each computed once.

An expression is computed in the outermost region where its symbols are known, and
equal ones share a value. Sums and products wrap modulo two to the width, so only the
operands of divisions and comparisons have to be exact: where the prover bounds them,
32 bits do.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from wave_core.backends.emission.instructions import I1, I32, I64
from wave_core.backends.emission.relations import coarser, compared
from wave_core.constraints.machine import LANE
from wave_core.diagnostics import internal_error
from wave_core.symbols import (
    Expr,
    Facts,
    Kind,
    Remainder,
    as_expr,
    combine,
    constant,
    split_remainders,
)
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from wave_core.backends.emission.instructions import Instructions, Kind as Item

NARROW = 32
WIDE = 64
_LIMIT = 1 << 31

_KINDS = {NARROW: I32, WIDE: I64}
_DTYPES = {NARROW: DTYPES["i32"], WIDE: DTYPES["i64"]}

_EXACT = frozenset(
    {Kind.FLOORDIV, Kind.MIN, Kind.MAX, Kind.GE, Kind.EQ, Kind.NE, Kind.XOR}
)
"""Kinds whose operands must not wrap."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The value of a symbol: its name, width in bits, and the level it is known at."""

    name: str
    width: int
    level: int


class Expressions:
    """Emits expressions over bound symbols.

    Attributes:
        counters: The symbols that count the iterations of loops, with how many there
        are.
        facts: What is known about symbols.
        whole_remainders: Whether constants inside remainders stay there in sums over
            several loops; other compilers unroll other loops then.
    """

    def __init__(self, make: Instructions, facts: Facts) -> None:
        self._make = make
        self.facts = facts
        self.whole_remainders = False
        self._bound: dict[Expr, Bound] = {}
        self.counters: dict[Expr, Expr] = {}
        self._levels: dict[Expr, int] = {}
        self._narrow: dict[Expr, bool] = {}
        self._coarse: dict[Expr, Expr] = {}
        self._inside: tuple[Facts, int, Facts] | None = None

    def bind(self, symbol: Expr, name: str, width: int, level: int) -> None:
        """Give a symbol its value; a symbol is bound once."""
        self._bound[symbol] = Bound(name, width, level)

    def within_loops(self) -> Facts:
        """Facts that hold inside the loops that were opened until now.

        They are the same object while nothing new is known: it keeps what it proves.
        """
        known, count = self.facts, len(self.counters)
        inside = self._inside
        if inside is not None and inside[0] is known and inside[1] == count:
            return inside[2]
        facts = known
        for counter, iterations in self.counters.items():
            facts = facts.with_range(counter, 0, iterations - 1)
        self._inside = known, count, facts
        return facts

    def level(self, value: Expr) -> int:
        """The outermost level where all symbols of ``value`` are known."""
        found = self._levels.get(value)
        if found is None:
            levels = (self._binding(symbol).level for symbol in value.free_symbols)
            found = self._levels[value] = max(levels, default=0)
        return found

    def fits(self, value: Expr) -> bool:
        """Whether 32 bits hold every value of the expression."""
        bound = self._bound.get(value)
        if bound is not None and bound.width == NARROW:
            return True
        interval = self.facts.bounds(value)
        low, high = interval.lo, interval.hi
        return low is not None and high is not None and low >= -_LIMIT and high < _LIMIT

    def number(self, value: Expr, width: int | None = None) -> str:
        """The name of an integer; by default as narrow as is right."""
        return self._number(value, self.width(value) if width is None else width)

    def width(self, value: Expr) -> int:
        """32 where that is enough to compute the expression and to hold it."""
        return NARROW if self.exact(value) and self.fits(value) else WIDE

    def wrapped(self, value: Expr) -> str:
        """The value modulo 2**32, as 32 bits."""
        if self.exact(value):
            return self._number(value, NARROW)
        name, level = self._number(value, WIDE), self.level(value)
        return self._make.once(
            ("trunc", value),
            lambda: self._make.convert("trunci", I64, "i32", name, level),
            level,
        )

    def truth(self, value: Expr) -> str:
        """The name of the truth of a relation, an ``i1``."""
        value = self._coarser(value)
        kind = value.kind
        if kind is Kind.CONST:
            return self._make.constant(bool(value.const), DTYPES["bool"])
        level = self.level(value)
        if kind in (Kind.AND, Kind.OR):
            return self._make.once(("truth", value), lambda: self._logic(value), level)
        if kind in (Kind.GE, Kind.EQ, Kind.NE):
            return self._make.once(
                ("truth", value), lambda: self._comparison(value), level
            )
        width = self.width(value)
        name, zero = self._number(value, width), self._constant(0, width)
        return self._make.once(
            ("truth", value),
            lambda: self._make.compare("ne", _KINDS[width], name, zero, level),
            level,
        )

    def _coarser(self, value: Expr) -> Expr:
        found = self._coarse.get(value)
        if found is None:
            found = self._coarse[value] = coarser(value, self.facts)
        return found

    def exact(self, value: Expr) -> bool:
        """Whether no division or comparison inside needs more than 32 bits."""
        found = self._narrow.get(value)
        if found is None:
            kind = value.kind
            args = self._divided(value) if kind is Kind.FLOORDIV else value.args
            found = all(self.exact(arg) for arg in args)
            if found and kind in (Kind.GE, Kind.EQ, Kind.NE):
                _, *sides = compared(value)
                found = all(self.fits(side) for side in sides)
            elif found and kind in _EXACT:
                found = all(self.fits(arg) for arg in args)
            elif found and kind is Kind.SYMBOL:
                found = self._binding(value).width == NARROW or self.fits(value)
            self._narrow[value] = found
        return found

    # ---- emission

    def _binding(self, symbol: Expr) -> Bound:
        found = self._bound.get(symbol)
        if found is None:
            raise internal_error("WV9905", f"no value for symbol `{symbol}`")
        return found

    def _constant(self, value: int, width: int) -> str:
        wrapped = (value + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))
        return self._make.constant(wrapped, _DTYPES[width])

    def _apply(self, word: str, width: int, one: str, other: str, level: int) -> str:
        return self._make.apply(word, _KINDS[width], one, other, level=level)

    def _remember(
        self, key: Hashable, word: str, width: int, names: tuple[str, str], level: int
    ) -> str:
        return self._make.once(
            key, lambda: self._apply(word, width, *names, level), level
        )

    def _number(self, value: Expr, width: int) -> str:
        if value.is_constant:
            return self._constant(value.const, width)
        if value.kind is Kind.SYMBOL:
            return self._symbol(value, width)
        level = self.level(value)
        return self._make.once(
            (value, width), lambda: self._computed(value, width, level), level
        )

    def _symbol(self, value: Expr, width: int) -> str:
        bound = self._binding(value)
        if bound.width == width:
            return bound.name
        word = "trunci" if bound.width == WIDE else "extsi"
        kind, level = _KINDS[bound.width], bound.level
        return self._make.once(
            (value, width),
            lambda: self._make.convert(word, kind, f"i{width}", bound.name, level),
            level,
        )

    def _extended(self, value: Expr) -> str:
        name = self._number(value, NARROW)
        low = self.facts.bounds(value).lo
        word = "extui" if low is not None and low >= 0 else "extsi"
        return self._make.convert(word, I32, "i64", name, self.level(value))

    def _computed(self, value: Expr, width: int, level: int) -> str:
        kind = value.kind
        if width == WIDE and self.width(value) == NARROW:
            return self._extended(value)
        if kind is Kind.SUM:
            return self._total(value, width, level)
        if kind is Kind.FLOORDIV:
            return self._quotient(*self._divided(value), width, level)
        if kind is Kind.SELECT:
            test = self.truth(value.args[0])
            one, other = (self._number(arg, width) for arg in value.args[1:])
            return self._make.select(test, _KINDS[width], one, other, level=level)
        if value.is_boolean:
            name = self.truth(value)
            return self._make.convert("extui", I1, f"i{width}", name, level)
        names = [self._number(arg, width) for arg in value.args]
        return self._fold(_FOLDS[kind], names, _KINDS[width], level)

    def _logic(self, value: Expr) -> str:
        word = "andi" if value.kind is Kind.AND else "ori"
        names = [self.truth(arg) for arg in value.args]
        return self._fold(word, names, I1, self.level(value))

    def _fold(self, word: str, names: list[str], kind: Item, level: int) -> str:
        result = names[0]
        for name in names[1:]:
            result = self._make.apply(word, kind, result, name, level=level)
        return result

    def _total(self, value: Expr, width: int, level: int) -> str:
        """A sum: what changes least first, the constant last."""
        const, terms = value.linear()
        groups = self._groups(terms)
        if len(groups) == 1:
            return self._parts(value, width, level)
        total = ""
        so_far = constant(0)
        for depth, terms_alone in groups:
            inside = split_remainders(terms_alone)[0] if self.whole_remainders else 0
            group, const = terms_alone - inside, const + inside
            name = self._number(group, width)
            so_far = so_far + group
            total = self._added(total, name, so_far, width, depth)
        return self._plus(total, const, width, level)

    def _added(self, total: str, name: str, key: Expr, width: int, depth: int) -> str:
        if not total:
            return name
        level = max(depth, self.level(key))
        return self._remember(("sum", key, width), "addi", width, (total, name), level)

    def _groups(self, terms: tuple[tuple[Expr, int], ...]) -> list[tuple[int, Expr]]:
        """The terms by what they depend on: loops from outside in, uniform first."""
        groups: dict[tuple[int, bool], list[tuple[Expr, int]]] = {}
        for row in terms:
            key = self.level(row[0]), LANE in row[0].free_symbols
            groups.setdefault(key, []).append(row)
        return [(key[0], combine(groups[key])) for key in sorted(groups)]

    def _plus(self, name: str, const: int, width: int, level: int) -> str:
        if not const:
            return name
        return self._apply("addi", width, name, self._constant(const, width), level)

    def _parts(self, value: Expr, width: int, level: int) -> str:
        """A sum without constant: its terms, remainders made visible."""
        extra, parts = split_remainders(value)
        positive = [row for row in parts if row[1] > 0]
        negative = [row for row in parts if row[1] < 0]
        total = ""
        for part, factor in (*positive, *negative):
            word = "subi" if factor < 0 and total else "addi"
            scale = -factor if factor < 0 and total else factor
            name = self._part(part, scale, width)
            if not total:
                total = name
                continue
            total = self._apply(word, width, total, name, level)
        return self._plus(total, extra, width, level)

    def _part(self, part: Expr | Remainder, factor: int, width: int) -> str:
        if isinstance(part, Remainder):
            base, modulus = part.base, part.modulus
            level = self.level(base % modulus)
            name = self._make.once(
                (part, width),
                lambda: self._remainder(base, modulus, width, level),
                level,
            )
        else:
            level = self.level(part)
            name = self._number(part, width)
        if factor == 1:
            return name
        number = self._constant(factor, width)
        key = (part, factor, width)
        return self._remember(key, "muli", width, (name, number), level)

    def _nonnegative(self, value: Expr) -> bool:
        low = self.facts.bounds(value).lo
        return (low is not None and low >= 0) or self.facts.prove_nonnegative(value)

    def _divided(self, value: Expr) -> tuple[Expr, Expr]:
        """The sides of a division: ``a // m`` and ``b`` of ``a // (m * b)``.

        That is where 32 bits do not hold the divisor, which is no constant then.
        """
        above, below = value.args
        const, terms = below.linear()
        step = gcd(const, *[factor for _, factor in terms])
        if self.fits(below) or step < 2:
            return above, below
        rest = as_expr(const // step)
        for term, factor in terms:
            rest = rest + term * (factor // step)
        return (above // step, rest) if self._nonnegative(rest) else (above, below)

    def _quotient(self, above: Expr, below: Expr, width: int, level: int) -> str:
        name = self._number(above, width)
        power = _power_of_two(below)
        unsigned = self._nonnegative(above) and self._nonnegative(below)
        if power is not None:
            word = "shrui" if unsigned else "shrsi"
            return self._apply(word, width, name, self._constant(power, width), level)
        word = "divui" if unsigned else "floordivsi"
        return self._apply(word, width, name, self._number(below, width), level)

    def _remainder(self, above: Expr, below: Expr, width: int, level: int) -> str:
        name = self._number(above, width)
        if _power_of_two(below) is not None:
            mask = self._constant(below.const - 1, width)
            return self._apply("andi", width, name, mask, level)
        divisor = self._number(below, width)
        if self._nonnegative(above) and self._nonnegative(below):
            return self._apply("remui", width, name, divisor, level)
        whole = self._number(above // below, width)
        back = self._apply("muli", width, whole, divisor, level)
        return self._apply("subi", width, name, back, level)

    def _comparison(self, value: Expr) -> str:
        test, *sides = compared(value)
        narrow = all(self.fits(side) for side in sides)
        one, other = (
            self.wrapped(side) if narrow else self._number(side, WIDE) for side in sides
        )
        kind = I32 if narrow else I64
        return self._make.compare(test, kind, one, other, self.level(value))


_FOLDS = {
    Kind.PRODUCT: "muli",
    Kind.MIN: "minsi",
    Kind.MAX: "maxsi",
    Kind.XOR: "xori",
}


def _power_of_two(value: Expr) -> int | None:
    if not value.is_constant or value.const <= 0 or value.const & (value.const - 1):
        return None
    return value.const.bit_length() - 1
