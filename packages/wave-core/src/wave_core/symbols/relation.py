"""How two layouts relate: register renaming, exchange between lanes, coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wave_core.symbols.error import SymbolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from wave_core.symbols.layout import Layout


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


def register_map(src: Layout, dst: Layout) -> tuple[int, ...] | None:
    """For each register of `dst` the register of `src` with the same element.

    The element is the same along the dimensions of `dst`, in every lane; of several
    registers the first is taken. None when lanes would have to exchange data, an
    element is missing, or `src` lacks a dimension of `dst`.
    """
    dims = dst.dims
    if src.lanes != dst.lanes or not set(dims) <= set(src.dims):
        return None
    # Register 0 of lane 0 is element 0 in both, so the lane parts must agree.
    if not src.same_lanes(dst, dims) and (
        src.source_offsets("lane", dims) != dst.source_offsets("lane", dims)
    ):
        return None
    holder: dict[tuple[int, ...], int] = {}
    for reg, element in enumerate(src.source_offsets("reg", dims)):
        holder.setdefault(element, reg)
    found = [holder.get(element) for element in dst.source_offsets("reg", dims)]
    kept = tuple([reg for reg in found if reg is not None])
    return kept if len(kept) == len(found) else None


def lane_map(src: Layout, dst: Layout) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """For each slot of `dst` the lane and register of `src` that hold its element.

    The own lane is preferred, then the lowest lane and register. None when an element
    is nowhere in the wave, or `src` lacks a dimension of `dst`.

    Shapes: [dst.lanes, dst.registers, 2], the last axis being (lane, register)
    """
    import numpy as np  # noqa: PLC0415

    dims = dst.dims
    if not set(dims) <= set(src.dims):
        return None
    anywhere: dict[tuple[int, ...], tuple[int, int]] = {}
    local: list[dict[tuple[int, ...], int]] = []
    for lane, row in enumerate(_elements(src, dims)):
        own: dict[tuple[int, ...], int] = {}
        for reg, element in enumerate(row):
            own.setdefault(element, reg)
            anywhere.setdefault(element, (lane, reg))
        local.append(own)
    result = np.empty((dst.lanes, dst.registers, 2), dtype=np.int64)
    for lane, row in enumerate(_elements(dst, dims)):
        own = local[lane] if lane < src.lanes else {}
        for reg, element in enumerate(row):
            here = own.get(element)
            found = anywhere.get(element) if here is None else (lane, here)
            if found is None:
                return None
            result[lane, reg] = found
    return result


def _elements(layout: Layout, dims: tuple[str, ...]) -> list[list[tuple[int, ...]]]:
    """The elements that each lane holds, register by register."""
    regs = layout.source_offsets("reg", dims)
    return [
        [tuple([a + b for a, b in zip(lane, reg, strict=True)]) for reg in regs]
        for lane in layout.source_offsets("lane", dims)
    ]


def coverage(layout: Layout, tile: Mapping[str, int]) -> Coverage:
    """Counts how often each element of a tile is held, over all lanes and registers.

    Args:
        layout: The distribution.
        tile: Extent of every dimension, in elements; dimensions that the layout lacks
            are held at index 0 only.

    Raises:
        SymbolError: The layout has a dimension that the tile lacks.
    """
    import numpy as np  # noqa: PLC0415

    unknown = sorted(set(layout.dims) - set(tile))
    if unknown:
        msg = f"the tile gives no extent for {', '.join(unknown)}"
        raise SymbolError(msg)
    inside = np.ones((layout.lanes, layout.registers), dtype=bool)
    place = np.zeros((layout.lanes, layout.registers), dtype=np.int64)
    size = 1
    for dim in sorted(tile):
        extent = tile[dim]
        place *= extent
        size *= extent
        if dim in layout.dims:
            index = layout.offsets(dim)
            inside &= (index >= 0) & (index < extent)
            place += index
    counts = np.bincount(place[inside], minlength=size)
    return Coverage(
        missing=int((counts == 0).sum()),
        outside=int((~inside).sum()),
        min_multiplicity=int(counts.min()) if counts.size else 0,
        max_multiplicity=int(counts.max(initial=0)),
    )
