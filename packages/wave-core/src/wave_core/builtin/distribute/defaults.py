"""The layout of a component that nothing anchors (copy, softmax, elementwise)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from wave_core.builtin.distribute.placements import placed
from wave_core.symbols import Digit, Layout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.ir import Placement


@dataclass(frozen=True, slots=True)
class Lead:
    """The layout that the leading access of a component asks for.

    Attributes:
        dims: Dimensions of the tile, outermost first.
        fastest: The dimension along which memory is contiguous.
        bits: Width of an element.
        elements: Elements a lane must move at once; ``None`` leaves it open.
    """

    dims: tuple[str, ...]
    fastest: str | None
    bits: int
    elements: int | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """The tile and the user's wishes about one step.

    Attributes:
        tile: Elements of the wave's tile.
        vector_shapes: Elements of a step by dimension; 0 marks a batch dimension.
        lanes: Lanes of the wave.
        max_bits: The widest access of one lane, in bits.
    """

    tile: Mapping[str, int]
    vector_shapes: Mapping[str, int]
    lanes: int
    max_bits: int


def default_placement(lead: Lead, shape: Shape) -> Placement:
    """Lanes along the fastest dimension first, then along the next ones.

    Each lane takes ``e`` consecutive elements of the fastest dimension: the
    largest power of two that fits an access, divides the tile, and leaves no lane
    idle; else one.
    """
    if lead.fastest is None:
        return placed(Layout.make(shape.lanes, 1, {}), shape.tile)
    elements = _elements(lead, lead.fastest, shape)
    digits: dict[str, list[Digit]] = {}
    if elements > 1:
        digits[lead.fastest] = [Digit(1, "reg", 1, elements)]
    position = 1
    for dim in _lane_order(lead, shape):
        run = elements if dim == lead.fastest else 1
        span = -(-_step_size(dim, shape) // run)
        count = _largest_divisor(shape.lanes // position, span)
        if count > 1:
            digits.setdefault(dim, []).append(Digit(run, "lane", position, count))
        position *= count
    return placed(Layout.make(shape.lanes, elements, digits), shape.tile)


def _lane_order(lead: Lead, shape: Shape) -> list[str]:
    """The fastest dimension, then the others from the innermost outwards."""
    others = [d for d in reversed(lead.dims) if d != lead.fastest]
    order = [d for d in (lead.fastest, *others) if d is not None]
    return [d for d in order if shape.vector_shapes.get(d, 1) != 0]


def _step_size(dim: str, shape: Shape) -> int:
    wished = shape.vector_shapes.get(dim, 0)
    return min(wished, shape.tile[dim]) if wished else shape.tile[dim]


def _elements(lead: Lead, fastest: str, shape: Shape) -> int:
    size = _step_size(fastest, shape)
    if lead.elements is not None:
        return max(1, min(lead.elements, size))
    work = prod(_step_size(d, shape) for d in _lane_order(lead, shape))
    elements = max(1, shape.max_bits // max(lead.bits, 1))
    while elements > 1 and (size % elements or elements * shape.lanes > work):
        elements //= 2
    return elements


def _largest_divisor(lanes: int, limit: int) -> int:
    """The largest divisor of ``lanes`` that is at most ``limit``."""
    candidates = range(1, min(lanes, limit) + 1)
    return max((n for n in candidates if lanes % n == 0), default=1)
