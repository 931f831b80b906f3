"""Which rows and bytes of a buffer the lanes of each access touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.constraints.machine import REGISTER
from wave_core.ir import ACCESS, region_of
from wave_core.ops.control import Iterate
from wave_core.ops.memory import Read
from wave_core.symbols import constant, logical_and, total

if TYPE_CHECKING:
    from wave_core.ir import Access
    from wave_core.ops.memory import Allocate, Write
    from wave_core.symbols import Expr
    from wave_core.types import MemoryType
    from wave_passes_memory.copies.lane_points import LanePoints

    Array = np.ndarray[Any, Any]

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
    stride = constant(1)
    parts: list[Expr] = []
    for place, extent in zip(
        reversed(access.coordinates[:-1]),
        reversed(kind.storage_shape[:-1]),
        strict=True,
    ):
        parts.append(place * stride)
        stride = stride * extent
    return total(parts)


def patterns(
    buffer: Allocate, accesses: list[Read | Write], points: LanePoints
) -> list[Pattern]:
    """The patterns of all accesses whose places do not come from index registers."""
    kinds: dict[tuple[bool, int], list[tuple[Array, Array, Array, int]]] = {}
    for op in accesses:
        if op.indices:
            continue
        access = region_of(op).graph.facts.get(ACCESS, op)
        assert access is not None, "expansion gives every access coordinates"
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
    alive = _values(logical_and(*mine) if mine else constant(1), points) != 0
    return row, column, alive, LOOP_WEIGHT ** _depth(op)


def _values(expr: Expr, points: LanePoints) -> Array:
    """The value for each wave and lane; symbols that all points share count as 0.

    Shapes: [waves, lanes]
    """
    others = expr.free_symbols - points.symbols
    known = {symbol: constant(0) for symbol in others} | {REGISTER: constant(0)}
    return points.values(expr.subs(known), 1).reshape(-1, points.lanes)


def _depth(op: Read | Write) -> int:
    return sum(isinstance(each, Iterate) for each in region_of(op).around)


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
