"""Which tile a workgroup works on: from the coordinates that the hardware counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.constraints.base import Constraint, constraint, is_count
from wave_core.constraints.distribution import workgroup_symbol
from wave_core.symbols import Expr, Kind, constant, maximum, minimum, symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Definition = tuple[Expr, Expr]
"""A symbol, and its value over symbols that are defined before."""

MOST_WORKGROUPS = (1 << 31) - 1
"""The most workgroups of a launch that an order of dies can count."""


BAND_ROWS = 4
"""Tiles of axis 0 in a band, where neither the kernel nor the target says."""


@constraint
class DieOrder(Constraint):
    """Neighbouring tiles run on one die, at about the same time.

    A chip of several dies (XCDs) hands workgroups to them in turn, and each has an L2
    of its own: what neighbours share would be fetched by every die. With this
    constraint each die has consecutive tiles, as many as the others or one more. They
    are counted in bands of ``rows`` tiles of axis 0: down the band, then on along axis
    1; then the next band, and at last the further axes.

    It permutes every grid, whatever its size. On a chip of one die tiles are counted
    in bands where the target asks for it, and else as the hardware does.

    Attributes:
        rows: Tiles of axis 0 in a band; the last band has those that are left. The
            target's if left out, or 4.
        dies: Dies of the chip; the target's if left out.
    """

    rows: int | None = None
    dies: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        banded = self.rows is None or is_count(self.rows, 1)
        self._require("rows", banded, "a positive integer, or nothing")
        fits = self.dies is None or is_count(self.dies, 1)
        self._require("dies", fits, "a positive integer, or nothing")


def hardware_symbol(axis: int) -> Expr:
    """The coordinate of a workgroup on grid axis ``axis`` as the hardware counts."""
    return symbol(f"$HW{axis}")


class Numbering:
    """What executors compute of the coordinates that the hardware counts."""

    def __init__(self, grid: Sequence[Expr]) -> None:
        """The order of the hardware."""
        self._grid = grid
        self._places = [hardware_symbol(axis) for axis in range(len(grid))]
        self._named: list[Definition] = []
        self._changed = False

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """All that is to be computed, in order; the workgroup symbols come last.

        Each is from 0 to `MOST_WORKGROUPS`. Without any, the workgroup symbols are what
        the hardware counts.
        """
        if not self._changed:
            return ()
        last = ((workgroup_symbol(a), place) for a, place in enumerate(self._places))
        return (*self._named, *last)

    def give_to_dies(self, dies: int, rows: int) -> None:
        """Each die has consecutive tiles, counted in bands of ``rows``."""
        if dies == 1 and all(extent is constant(1) for extent in self._grid[1:2]):
            return  # A band of one tile's width is as the hardware counts.
        if any(extent is constant(0) for extent in self._grid):
            return  # Of no tiles, none has a place.
        number, count = constant(0), constant(1)
        for place, extent in zip(self._places, self._grid, strict=True):
            if extent is not constant(1):
                number, count = number + place * count, count * extent
        number, count = self._name("number", number), self._name("count", count)
        die, more = number % dies, count % dies
        # The first dies are handed one workgroup more than the others.
        further = constant(0) if more is constant(0) else minimum(die, more)
        before = die * (count // dies) + further
        self._places = self._unfolded(self._name("tile", before + number // dies), rows)
        self._changed = True

    def reorder(self, exprs: Mapping[int, Expr]) -> None:
        """Read coordinates as expressions of what they are so far, by axis."""
        so_far = {
            workgroup_symbol(axis): self._name(f"place{axis}", place)
            for axis, place in enumerate(self._places)
        }
        for axis, expr in exprs.items():
            self._places[axis] = expr.subs(so_far)
            self._changed = True

    def _name(self, name: str, value: Expr) -> Expr:
        """A symbol for ``value``: divisions of it are then by 32 bits."""
        if value.is_constant or value.kind is Kind.SYMBOL:
            return value
        self._named.append((symbol(f"$ORDER.{name}"), value))
        return self._named[-1][0]

    def _unfolded(self, tile: Expr, rows: int) -> list[Expr]:
        """The coordinates of a tile."""
        down, *others = self._grid
        if not others:
            return [tile]
        across, *further = others
        if not further:
            return self._in_bands(tile, down, across, rows)
        layer = self._name("layer", self._name("run", tile // down) // across)
        inside = self._name("inside", tile - layer * down * across)
        places = self._in_bands(inside, down, across, rows)
        for axis, extent in enumerate(further[:-1], 2):
            places.append(layer % extent)
            layer = self._name(f"after{axis}", layer // extent)
        return [*places, layer]

    def _in_bands(
        self, inside: Expr, down: Expr, across: Expr, rows: int
    ) -> list[Expr]:
        """The coordinates on axes 0 and 1 of a tile of one layer."""
        if across is constant(1):
            return [inside, constant(0)]
        if down.is_constant and down.constant_value <= rows:
            return [inside % down, inside // down]
        band = self._name("band", inside // (across * rows))
        rest = self._name("rest", inside - band * across * rows)
        height = constant(rows)
        if down % rows is not constant(0):
            left = minimum(rows, down - band * rows)
            height = self._name("height", maximum(1, left))
        return [band * rows + rest % height, rest // height]
