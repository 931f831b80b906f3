"""Coordinates: dimensions of which a workgroup, or an iteration, holds one element.

Such a dimension is no dimension of a tile: its index is the workgroup's place on a grid
axis, or the number of the iteration. A value may name it or not, and two of them on one
axis name the same place, each in its own way (query heads, and the heads of keys that
they share).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.constraints.distribution import TilingConstraint, WorkgroupConstraint
from wave_core.constraints.symbolic import with_aliases
from wave_core.symbols import SymbolError, constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wave_core.constraints.base import Constraint
    from wave_core.symbols import Expr


@dataclass(frozen=True)
class Coordinates:
    """The tiles of dimensions at one place of a kernel.

    Attributes:
        rows: The workgroup constraints by dimension.
        tiles: Elements that a workgroup holds, with the known symbols bound.
        steps: Elements that an iteration of a loop holds, in the same way.
        loops: The dimensions of the loops around the place.
    """

    rows: Mapping[Expr, WorkgroupConstraint]
    tiles: Mapping[Expr, Expr]
    steps: Mapping[Expr, Expr]
    loops: frozenset[Expr] = frozenset()

    @classmethod
    def of(
        cls, constraints: Sequence[Constraint], bindings: Mapping[Expr, int]
    ) -> Coordinates:
        """Those of a kernel; tiles without a value are reported with the geometry."""
        listed = with_aliases(constraints)
        groups = [row for row in listed if isinstance(row, WorkgroupConstraint)]
        loops = [row for row in listed if isinstance(row, TilingConstraint)]
        return cls(
            {row.dim: row for row in groups},
            {row.dim: _bound(row.tile_size, bindings) for row in groups},
            {row.dim: _bound(row.tile_size, bindings) for row in loops},
        )

    def __contains__(self, dim: Expr) -> bool:
        """Whether one element of ``dim`` is proved to be held at a time."""
        tile = (self.steps if dim in self.loops else self.tiles).get(dim)
        return tile is constant(1)

    def share_axis(self, dim: Expr, others: Iterable[Expr]) -> bool:
        """Whether one of ``others``, or a loop around, names the place of ``dim``."""
        axes = {self.rows[each].workgroup_dim for each in others if each in self.rows}
        if dim in self.loops:
            return True
        return dim in self.rows and self.rows[dim].workgroup_dim in axes


def _bound(tile: Expr | None, bindings: Mapping[Expr, int]) -> Expr:
    """A tile with its symbols bound, as far as that goes; one where it is left out."""
    if tile is None:
        return constant(1)
    try:
        return tile.subs(bindings)
    except SymbolError:
        return tile
