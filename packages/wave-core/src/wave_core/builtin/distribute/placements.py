"""Algebra of placements: which layouts agree, and how registers match.

A placement before expansion is a layout of one step plus how often it repeats along
each dimension. It is kept in normal form: steps sorted by dimension, none that
repeats once, the extent of a step equal to the extent of the layout.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from wave_core.ir import Placement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wave_core.symbols import Layout

Ids = tuple[int, ...]


def placed(layout: Layout, tile: Mapping[str, int]) -> Placement:
    """``layout`` repeated until it covers ``tile`` (elements of each dimension).

    Dimensions to which the layout gives no digit advance by one element a step.
    """
    steps: list[tuple[str, int, int]] = []
    for dim in sorted(tile):
        extent = layout.extent(dim)
        count = -(-tile[dim] // extent)
        if count > 1:
            steps.append((dim, count, extent))
    return Placement(layout, tuple(steps))


def project(placement: Placement, dims: Iterable[str]) -> Placement:
    """The placement of a value that has only ``dims`` of this one's dimensions."""
    kept = set(dims)
    gone = set(placement.layout.dims) - kept
    layout = placement.layout.drop(gone) if gone else placement.layout
    return Placement(layout, tuple(s for s in placement.steps if s[0] in kept))


def ids_of(placement: Placement) -> Iterator[Ids]:
    """The step numbers of all pieces, the last dimension fastest."""
    return product(*(range(count) for _, count, _ in placement.steps))


def starts(placement: Placement, ids: Ids) -> dict[str, int]:
    """How far along each dimension a piece lies from the start of the tile."""
    return {s[0]: n * s[2] for s, n in zip(placement.steps, ids, strict=True)}


def reach(placement: Placement, dim: str) -> int:
    """One more than the largest index along ``dim`` within the tile."""
    last = (count - 1 for _, count, _ in placement.steps)
    return starts(placement, tuple(last)).get(dim, 0) + placement.layout.extent(dim)


def restrict(ids: Ids, outer: Placement, inner: Placement) -> Ids:
    """The ids of the piece of ``inner`` that goes with piece ``ids`` of ``outer``."""
    known = {step[0]: number for step, number in zip(outer.steps, ids, strict=True)}
    return tuple(known[step[0]] for step in inner.steps)


def flatten(placement: Placement) -> Layout:
    """One layout for all pieces: the steps become the outer register digits."""
    order = [dim for dim, _, _ in placement.steps]
    steps = {dim: (count, extent) for dim, count, extent in placement.steps}
    return placement.layout.tile(steps, order) if steps else placement.layout


def _columns(layout: Layout, dims: Iterable[str]) -> list[bytes]:
    """For each register a key for the elements that the lanes hold in it."""
    offsets = [layout.offsets(dim) for dim in dims]
    if not offsets:
        return [b""] * layout.registers
    stacked = np.stack(offsets)
    return [stacked[:, :, r].tobytes() for r in range(layout.registers)]


def register_picks(source: Layout, target: Layout) -> tuple[int, ...] | None:
    """For each register of ``target`` the register of ``source`` with its element.

    Both are layouts of one tile; dimensions that only ``target`` has are free (a
    broadcast). ``None`` where some lane would need an element of another lane.
    """
    dims = sorted(source.dims)
    columns = list(enumerate(_columns(source, dims)))
    have = {column: register for register, column in reversed(columns)}
    picks: list[int] = []
    for column in _columns(target, dims):
        register = have.get(column)
        if register is None:
            return None
        picks.append(register)
    return tuple(picks)


def free_lane_digits(layout: Layout) -> list[tuple[int, int]]:
    """``(div, mod)`` of the lane digits that no dimension uses: replication."""
    used = sorted(
        {(d.div, d.mod) for dim in layout.dims for d in layout.lane_digits(dim)}
    )
    free: list[tuple[int, int]] = []
    position = 1
    for div, mod in used:
        if div > position:
            free.append((position, div // position))
        position = max(position, div * mod)
    if position < layout.lanes:
        free.append((position, layout.lanes // position))
    return free
