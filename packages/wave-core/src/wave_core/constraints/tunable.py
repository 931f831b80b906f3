"""Symbols that the author of a kernel leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.constraints.base import Constraint, constraint, surface_expr

if TYPE_CHECKING:
    from wave_core.symbols import Expr


NARROW = 32
"""Lanes of a wave that are few: its registers hold half of what 64 lanes have."""


@constraint
class Tunable(Constraint):
    """Leave symbols open to whoever compiles, among values that make sense.

    A preset that chooses, such as ``auto``, takes the values that suit the sizes and
    the target; every other takes the first. ``subs`` settles a symbol: of several
    that are listed together, only rows that agree with it are left.

    Attributes:
        symbols: A symbol, or several whose values belong together: sizes of tiles,
            counts of waves, an address space.
        values: What they may be, the usual first: integers or address spaces; rows
            of these for several symbols.
        narrow: The same for waves of `NARROW` lanes and fewer, which hold less;
            ``values`` if left out.

    Example::

        tkw.Tunable((BLOCK_M, BLOCK_N, WAVES_N), ((256, 256, 4), (128, 128, 2)))
    """

    symbols: Any
    values: Any
    narrow: Any = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        joined = isinstance(self.symbols, (tuple, list))
        found = [
            surface_expr(each, [], self.location)
            for each in _listed(self.symbols) or [self.symbols]
        ]
        plain = all(each in each.free_symbols for each in found)
        self._require("symbols", plain, "a symbol, or several: `(BLOCK_M, BLOCK_N)`")
        wanted = f"rows of {len(found)} values" if joined else "values: `(128, 256)`"
        for name, least in (("values", 1), ("narrow", 0)):
            given = _listed(getattr(self, name))
            rows = [_listed(row) if joined else [row] for row in given]
            fits = len(rows) >= least and all(len(row) == len(found) for row in rows)
            self._require(name, fits, wanted)
            self._set(name, tuple(map(tuple, rows)))
        self._set("symbols", tuple(found))

    def rows(self, lanes: int) -> tuple[dict[Expr, Any], ...]:
        """Each way to settle the symbols for so many lanes, the usual one first."""
        rows = self.narrow if self.narrow and lanes <= NARROW else self.values
        return tuple(dict(zip(self.symbols, row, strict=True)) for row in rows)


def _listed(given: Any) -> list[Any]:
    """What a tuple or a list holds; nothing of anything else."""
    rows: Any = given
    return [*rows] if isinstance(given, (tuple, list)) else []
