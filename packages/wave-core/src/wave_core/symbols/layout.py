"""Layouts: which element of a wave's tile each lane holds in each register.

Along every dimension the element index is a sum of digits of the lane number and of
the register number. Layouts are canonical, so equal distributions compare equal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from wave_core.symbols.error import SymbolError
from wave_core.symbols.expr import Expr, combine
from wave_core.symbols.text import PLAIN_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

Source = Literal["lane", "reg"]


@dataclass(frozen=True, slots=True)
class Digit:
    """The contribution coeff * ((source // div) % mod) to an element index.

    Attributes:
        coeff: Elements per step of the digit, not zero.
        source: The lane number or the register number.
        div: Steps of the source per step of the digit, at least 1.
        mod: Number of values the digit takes, at least 1 (1 contributes nothing).
    """

    coeff: int
    source: Source
    div: int
    mod: int

    def __post_init__(self) -> None:
        if self.source not in ("lane", "reg"):
            msg = f"a digit comes from 'lane' or 'reg', not {self.source!r}"
            raise SymbolError(msg)
        if self.coeff == 0 or self.div < 1 or self.mod < 1:
            msg = f"a digit needs coeff != 0, div >= 1 and mod >= 1: {self}"
            raise SymbolError(msg)

    def __str__(self) -> str:
        text = f"({self.source}/{self.div}%{self.mod})"
        return text if self.coeff == 1 else f"{self.coeff}*{text}"

    def value(self, number: int) -> int:
        """The contribution at one lane or register number."""
        return self.coeff * (number // self.div % self.mod)

    def cut(self, at: int) -> tuple[Digit, ...]:
        """The same as digits of what is below number ``at`` and of what is not."""
        low = at // self.div
        if not 1 < low < self.mod or at % self.div or self.mod % low:
            return (self,)
        high = Digit(self.coeff * low, self.source, at, self.mod // low)
        return Digit(self.coeff, self.source, self.div, low), high


_ORDER = attrgetter("coeff", "source", "div")
_SOURCE_ORDER = attrgetter("source", "div", "mod")


def _canonical(digits: Iterable[Digit], sizes: Mapping[str, int]) -> tuple[Digit, ...]:
    """Clips digits to the numbers that occur and joins neighbours."""
    weights: dict[tuple[Source, int, int], int] = {}
    for digit in digits:
        mod = min(digit.mod, -(-sizes[digit.source] // digit.div))
        if mod > 1:
            key = (digit.source, digit.div, mod)
            weights[key] = weights.get(key, 0) + digit.coeff
    single = [Digit(coeff, *key) for key, coeff in weights.items() if coeff]
    joined: list[Digit] = []
    for digit in sorted(single, key=_SOURCE_ORDER):
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.source == digit.source
            and digit.div == last.div * last.mod
            and digit.coeff == last.coeff * last.mod
        ):
            joined[-1] = Digit(last.coeff, last.source, last.div, last.mod * digit.mod)
        else:
            joined.append(digit)
    return tuple(sorted(joined, key=_ORDER))


@dataclass(frozen=True, slots=True)
class Coverage:
    """How a layout fills a tile.

    Attributes:
        missing: Elements of the tile that no slot holds.
        outside: Lane-register slots that hold an element outside of the tile.
        min_multiplicity: Fewest slots that hold one element of the tile.
        max_multiplicity: Most slots that hold one element of the tile.
    """

    missing: int
    outside: int
    min_multiplicity: int
    max_multiplicity: int

    @property
    def exact(self) -> bool:
        """True when every element of the tile is held exactly once."""
        once = self.min_multiplicity == self.max_multiplicity == 1
        return once and not self.outside


@dataclass(frozen=True, slots=True)
class Layout:
    """A distribution of a wave tile over lanes and registers; see `make`.

    Attributes:
        lanes: Lanes of the wave.
        registers: Elements that each lane holds.
        table: Dimension names, sorted, each with its digits.
    """

    lanes: int
    registers: int
    table: tuple[tuple[str, tuple[Digit, ...]], ...]

    @staticmethod
    def make(
        lanes: int, registers: int, digits: Mapping[str, Iterable[Digit]]
    ) -> Layout:
        """The canonical layout with these digits per dimension."""
        if lanes < 1 or registers < 1:
            msg = f"a layout needs lanes and registers, got {lanes} and {registers}"
            raise SymbolError(msg)
        sizes = {"lane": lanes, "reg": registers}
        table = [(dim, _canonical(digits[dim], sizes)) for dim in sorted(digits)]
        return Layout(lanes, registers, tuple(table))

    def __str__(self) -> str:
        rows = [f"{_name(dim)}: {_sum(digits)}" for dim, digits in self.table]
        return f"{self.lanes}x{self.registers} {{{', '.join(rows)}}}"

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimension names, sorted."""
        return tuple([dim for dim, _ in self.table])

    def digits(self, dim: str) -> tuple[Digit, ...]:
        """The digits of a dimension, smallest coefficient first.

        A dimension that the layout lacks has none: everybody holds its index 0.
        """
        return next((digits for name, digits in self.table if name == dim), ())

    def lane_digits(self, dim: str) -> tuple[Digit, ...]:
        """The digits of a dimension that come from the lane number."""
        return tuple([d for d in self.digits(dim) if d.source == "lane"])

    def reg_digits(self, dim: str) -> tuple[Digit, ...]:
        """The digits of a dimension that come from the register number."""
        return tuple([d for d in self.digits(dim) if d.source == "reg"])

    def extent(self, dim: str) -> int:
        """Elements from the first to the last one held along a dimension."""
        return 1 + sum(abs(d.coeff) * (d.mod - 1) for d in self.digits(dim))

    def offset(self, dim: str, lane: int, reg: int) -> int:
        """The element index along `dim` that a lane holds in a register."""
        return sum(
            d.value(lane if d.source == "lane" else reg) for d in self.digits(dim)
        )

    def offsets(self, dim: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """All element indices along a dimension.

        Shapes: [lanes, registers]
        """
        import numpy as np  # noqa: PLC0415

        lane = np.arange(self.lanes, dtype=np.int64)[:, None]
        reg = np.arange(self.registers, dtype=np.int64)[None, :]
        result = np.zeros((self.lanes, self.registers), dtype=np.int64)
        for digit in self.digits(dim):
            number = lane if digit.source == "lane" else reg
            result += digit.coeff * (number // digit.div % digit.mod)
        return result

    def expr(self, dim: str, lane: Expr | int, reg: Expr | int) -> Expr:
        """The element index along `dim` as an expression."""
        return combine(
            [
                ((lane if d.source == "lane" else reg) // d.div % d.mod, d.coeff)
                for d in self.digits(dim)
            ]
        )

    def drop(self, dims: Iterable[str]) -> Layout:
        """The layout without some dimensions, as after reducing over them.

        Registers that differed only along them vanish; lanes become replication.
        """
        gone = set(dims)
        kept = {dim: list(row) for dim, row in self.table if dim not in gone}
        lost = [d for dim in gone for d in self.reg_digits(dim)]
        return _compact(self.lanes, self.registers, kept, lost)

    def only(self, dims: Iterable[str]) -> Layout:
        """The layout with some dimensions alone, and as many registers.

        Registers that differed only along the others hold the same element.
        """
        kept = set(dims)
        table = {dim: row for dim, row in self.table if dim in kept}
        return Layout.make(self.lanes, self.registers, table)

    def rename(self, names: Mapping[str, str]) -> Layout:
        """The layout with dimensions renamed."""
        table = {names.get(dim, dim): digits for dim, digits in self.table}
        if len(table) != len(self.table):
            msg = f"renaming {dict(names)} merges dimensions of {self}"
            raise SymbolError(msg)
        return Layout.make(self.lanes, self.registers, table)

    def tile(
        self, counts: Mapping[str, tuple[int, int]], order: Sequence[str]
    ) -> Layout:
        """Repeats the layout `count` times every `extent` elements per dimension.

        Args:
            counts: Dimension -> (count, extent).
            order: The dimensions of `counts`; the last one varies fastest.
        """
        if set(order) != set(counts) or len(order) != len(counts):
            msg = f"tile order {list(order)} does not name {sorted(counts)}"
            raise SymbolError(msg)
        table = {dim: list(row) for dim, row in self.table}
        registers = self.registers
        for dim in reversed(order):
            count, extent = counts[dim]
            table.setdefault(dim, []).append(Digit(extent, "reg", registers, count))
            registers *= count
        return Layout.make(self.lanes, registers, table)

    def contiguous_run(self, dim: str) -> int:
        """Consecutive registers that step by one element along `dim` alone."""
        run = 1
        for digit in self.reg_digits(dim):
            if digit.div == 1 and digit.coeff == 1:
                run = digit.mod
        for name, digits in self.table:
            for d in digits:
                inner = name == dim and d.div == 1 and d.coeff == 1
                if d.source == "reg" and not inner:
                    run = min(run, d.div)
        return run

    def coverage(self, tile: Mapping[str, int]) -> Coverage:
        """Counts how often each element of a tile is held, over lanes and registers.

        Args:
            tile: Extent of every dimension, in elements; dimensions that the layout
                lacks are held at index 0 only.

        Raises:
            SymbolError: The layout has a dimension that the tile lacks.
        """
        import numpy as np  # noqa: PLC0415

        unknown = sorted(set(self.dims) - set(tile))
        if unknown:
            msg = f"the tile gives no extent for {', '.join(unknown)}"
            raise SymbolError(msg)
        inside = np.ones((self.lanes, self.registers), dtype=bool)
        place = np.zeros((self.lanes, self.registers), dtype=np.int64)
        size = 1
        for dim in sorted(tile):
            extent = tile[dim]
            place *= extent
            size *= extent
            if dim in self.dims:
                index = self.offsets(dim)
                inside &= (index >= 0) & (index < extent)
                place += index
        counts = np.bincount(place[inside], minlength=size)
        return Coverage(
            missing=int((counts == 0).sum()),
            outside=int((~inside).sum()),
            min_multiplicity=int(counts.min()) if counts.size else 0,
            max_multiplicity=int(counts.max(initial=0)),
        )


def _compact(
    lanes: int,
    registers: int,
    table: Mapping[str, Sequence[Digit]],
    lost: Sequence[Digit],
) -> Layout:
    """Renumbers registers without the places that only `lost` digits used."""
    used = [d for row in table.values() for d in row if d.source == "reg"]
    bounds = {1, registers}
    for digit in (*used, *lost):
        bounds |= {digit.div, digit.div * digit.mod}
    ordered = sorted(bounds)
    if any(b % a for a, b in pairwise(ordered)):
        msg = "register digits overlap; registers cannot be renumbered"
        raise SymbolError(msg)
    moved = {1: 1}
    for low, high in pairwise(ordered):
        vanishes = _covers(lost, low) and not _covers(used, low)
        moved[high] = moved[low] * (1 if vanishes else high // low)

    def shift(d: Digit) -> Digit:
        div = moved[d.div] if d.source == "reg" else d.div
        return Digit(d.coeff, d.source, div, d.mod)

    kept = {dim: [shift(d) for d in row] for dim, row in table.items()}
    return Layout.make(lanes, moved[registers], kept)


def _covers(digits: Sequence[Digit], place: int) -> bool:
    return any(d.div <= place < d.div * d.mod for d in digits)


def _name(dim: str) -> str:
    return dim if PLAIN_NAME.fullmatch(dim) else json.dumps(dim)


def _sum(digits: Iterable[Digit]) -> str:
    ordered = sorted(digits, key=lambda d: -abs(d.coeff))
    return " + ".join([str(digit) for digit in ordered]) or "0"
