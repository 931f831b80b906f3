"""Rows and bytes of a buffer that lanes touch, and bank conflicts that they meet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from wave_core.ir import ACCESS, region_of
from wave_core.ops.control import Iterate, While
from wave_core.ops.memory import Read
from wave_core.symbols import logical_and
from wave_passes_memory.copies.share import flat_offset

if TYPE_CHECKING:
    from wave_core.ir import Access
    from wave_core.ops.memory import Allocate, Write
    from wave_core.symbols import Expr
    from wave_core.targets import BankPhases, MemorySpec
    from wave_core.types import MemoryType
    from wave_passes_memory.copies.lane_points import Array, LanePoints


_NOWHERE = -1


def conflict_cycles(
    places: Array, alive: Array, width: int, memory: MemorySpec, *, reads: bool
) -> Array:
    """Cycles beyond the first of each phase, for each access of all lanes of a wave.

    Shapes: ``places`` (byte offsets) and ``alive`` ``[accesses, lanes]``; the result
    ``[accesses]``. Units: ``width`` bytes a lane.
    """
    phases = memory.phases(width, reads=reads)
    accesses, lanes = places.shape
    if phases is None:
        return np.zeros(accesses, dtype=np.int64)
    words = max(1, width // memory.bank_bytes)
    first = np.full((accesses, lanes + 1), _NOWHERE, dtype=np.int64)
    np.copyto(first[:, :lanes], places // memory.bank_bytes, where=alive)
    start = first[:, _together(phases, lanes), None]
    touched = np.where(start < 0, _NOWHERE, start + np.arange(words))
    extra = _extra(touched.reshape(-1, touched.shape[2] * words), phases.banks)
    return extra.reshape(accesses, -1).sum(axis=1)


@cache
def _together(phases: BankPhases, lanes: int) -> Array:
    """The lanes of each phase; in place of those that a wave lacks, ``lanes``.

    Shapes: [phases, lanes of the longest]
    """
    most = max(map(len, phases.phases))
    return np.array(
        [
            [*(min(begin + at, lanes) for at in row), *[lanes] * (most - len(row))]
            for begin in range(0, lanes, phases.lanes)
            for row in phases.phases
        ]
    )


def split_accesses(places: Array, alive: Array, width: int) -> int:
    """How many accesses more each one needs, since a wide one must be aligned.

    Shapes: as in `conflict_cycles`. The generated code is the same for all lanes.
    """
    aligned = int(np.gcd.reduce(np.append(places[alive], width)))
    return width // aligned - 1


def _extra(words: Array, banks: int) -> Array:
    """The most different words of one bank, less one."""
    words = np.sort(words, axis=1)
    new = np.ones(words.shape, dtype=np.bool_)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    new &= words != _NOWHERE
    row = np.arange(len(words), dtype=np.int64)[:, None] * banks
    slots = (row + words % banks)[new]
    counts = np.bincount(slots, minlength=len(words) * banks)
    worst = counts.reshape(-1, banks).max(axis=1)
    return np.maximum(worst - 1, 0)


PERIOD = 64
"""Rows after which neither banks nor swizzles of the schemes here tell a difference."""

LOOP_WEIGHT = 16
"""How much more an access counts for each loop around it."""


@dataclass(frozen=True)
class Pattern:
    """Accesses of one kind and width, each different one once.

    Attributes:
        reads: Whether they read.
        width: Bytes that a lane moves.
        rows: The row of each lane.
        columns: The byte within the row at which it starts.
        alive: The lanes that take part.
        weights: How often each comes.

    Shapes: rows, columns and alive ``[accesses, lanes]``, weights ``[accesses]``.
    """

    reads: bool
    width: int
    rows: Array
    columns: Array
    alive: Array
    weights: Array


def row_of(access: Access, kind: MemoryType) -> Expr:
    """The number of the row that an access touches: all dimensions but the last."""
    return flat_offset(access.coordinates[:-1], kind.storage_shape[:-1])


def patterns(
    buffer: Allocate, accesses: list[Read | Write], points: LanePoints
) -> list[Pattern]:
    """The patterns of all accesses whose places do not come from index registers."""
    kinds: dict[tuple[bool, int], list[tuple[Array, Array, Array, int]]] = {}
    for op in accesses:
        if op.indices:
            continue
        access = region_of(op).graph.facts.known(ACCESS, op)
        width = access.registers * buffer.dtype.bytes
        key = isinstance(op, Read), width
        kinds.setdefault(key, []).append(_lanes(buffer, op, access, points))
    return [_pattern(*key, rows) for key, rows in sorted(kinds.items())]


def _lanes(
    buffer: Allocate, op: Read | Write, access: Access, points: LanePoints
) -> tuple[Array, Array, Array, int]:
    kind = buffer.memory_type
    row = _values(row_of(access, kind), points)
    column = _values(access.coordinates[-1], points) * buffer.dtype.bytes
    mine, _ = points.conditions(access.mask)
    alive = _values(logical_and(*mine), points) != 0
    depth = sum(isinstance(each, Iterate | While) for each in region_of(op).around)
    return row, column, alive, LOOP_WEIGHT**depth


def _values(expr: Expr, points: LanePoints) -> Array:
    """The value for each wave and lane; symbols that all points share count as 0.

    Shapes: [waves, lanes]
    """
    return points.own_values(expr, 1).reshape(-1, points.lanes)


def _pattern(
    reads: bool,  # noqa: FBT001 - part of a key
    width: int,
    found: list[tuple[Array, Array, Array, int]],
) -> Pattern:
    rows = np.concatenate([row for row, _, _, _ in found])
    rows = rows - rows.min(axis=1, keepdims=True) // PERIOD * PERIOD
    columns = np.concatenate([column for _, column, _, _ in found])
    alive = np.concatenate([mask for _, _, mask, _ in found])
    weights = np.concatenate([np.full(len(row), w) for row, _, _, w in found])
    lanes = rows.shape[1]
    packed = np.concatenate([rows, columns, alive], axis=1)
    numbers: dict[bytes, int] = {}
    inverse = [numbers.setdefault(row.tobytes(), len(numbers)) for row in packed]
    unique = packed[np.unique(inverse, return_index=True)[1]]
    return Pattern(
        reads,
        width,
        unique[:, :lanes],
        unique[:, lanes : 2 * lanes],
        unique[:, 2 * lanes :] != 0,
        np.bincount(inverse, weights=weights).astype(np.int64),
    )
