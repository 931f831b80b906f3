"""The printed view of a distributed index: start : size : stride."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.symbols.expr import Expr, as_expr, symbol

if TYPE_CHECKING:
    from wave_core.symbols.layout import Layout

LANE = "$LANE"
"""Name of the symbol that stands for the lane number."""


@dataclass(frozen=True, slots=True)
class IndexSequence:
    """The elements start, start + stride, ... along one dimension.

    Attributes:
        start: First element.
        size: Number of elements.
        stride: Elements from one to the next.
    """

    start: Expr
    size: Expr | int = 1
    stride: Expr | int = 1

    def __str__(self) -> str:
        return f"{self.start} : {self.size} : {self.stride}"


def sequence_of(layout: Layout, dim: str, base: Expr | int = 0) -> IndexSequence:
    """How one lane's elements along `dim` print, where the tile starts at `base`.

    `size` counts the registers that differ along `dim`; `stride` is the step between
    the first two of them, which is every step when the digits are one progression.
    """
    start = as_expr(base) + layout.expr(dim, symbol(LANE), 0)
    digits = layout.reg_digits(dim)
    size = 1
    for digit in digits:
        size *= digit.mod
    return IndexSequence(start, size, digits[0].coeff if digits else 1)
