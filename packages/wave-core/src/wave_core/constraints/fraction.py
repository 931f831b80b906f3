"""Dimensions that another one scales: ``K // 2`` bytes of ``K`` nibbles, ``2 * K``.

Constraints of the dimension hold for its fractions, with their tiles scaled alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from wave_core.constraints.distribution import (
    DeviceConstraint,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from wave_core.diagnostics import user_error
from wave_core.symbols import constant, parse_expr, ratio_of

if TYPE_CHECKING:
    from wave_core.symbols import Expr

R = TypeVar(
    "R", WorkgroupConstraint, WaveConstraint, TilingConstraint, DeviceConstraint
)


@dataclass(frozen=True, slots=True)
class Fraction:
    """The dimension ``times * whole // parts``.

    Attributes:
        dim: The fraction as a dimension.
        whole: The dimension that constraints name.
        times: Elements of the fraction for each ``parts`` elements of ``whole``.
        parts: The divisor.
    """

    dim: Expr
    whole: Expr
    times: int
    parts: int

    def row(self, row: R) -> R:
        """The constraint of ``whole`` with a tile, and a start, in the fraction.

        Raises:
            UserError: WV0329 where these are proved of no whole number of elements.
        """
        tile = constant(1) if row.tile_size is None else row.tile_size
        changed = replace(row, tile_size=self._of(tile, row))
        if isinstance(row, WorkgroupConstraint):
            start = self._of(row.start, row) if row.apply_fn is not None else None
            return replace(changed, apply_fn=start, primary=False)
        if isinstance(row, TilingConstraint) and row.start is not None:
            return replace(changed, start=self._of(row.start, row))
        return changed

    def _of(self, elements: Expr, row: R) -> Expr:
        """How much of the fraction so much of ``whole`` is."""
        times = elements * self.times
        if times % self.parts is constant(0):
            return times // self.parts
        raise user_error(
            "WV0329",
            f"{elements} elements along `{self.whole}` are not proved to be a whole "
            f"number of `{self.dim}`",
            at=row.location,
            label=f"distributes `{self.whole}`",
            help=f"make tiles, and where they start, multiples of {self.parts}",
        )


@lru_cache(maxsize=1024)
def fraction(dim: str) -> Fraction | None:
    """What ``dim`` is a fraction of; ``None`` for a dimension of its own."""
    expr = parse_expr(dim)
    found = None if expr.name else ratio_of(expr)
    if found is None:
        return None
    whole, ratio = found
    return Fraction(expr, whole, *ratio.as_integer_ratio())
