"""Dims of a log that its register has not: workgroups and iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.constraints import (
    GridConstraint,
    WorkgroupConstraint,
    workgroup_symbol,
)
from wave_core.constraints.machine import induction_symbol
from wave_core.constraints.symbolic import with_aliases
from wave_core.ops.control import Iterate, Loop, While
from wave_core.symbols import Expr, as_expr, symbol
from wave_core.types import DTYPES, Family, LeadingDim

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from wave_core.constraints import Constraint
    from wave_core.ir.graph import Region
    from wave_core.types import DType

Placed = tuple[LeadingDim, Expr]
"""A dimension, and the coordinate along it where the log stands."""


def extent_symbol(log: int, position: int) -> Expr:
    """The size of an extra dim of the log number ``log``."""
    return symbol(f"$LOG{log}.{position}")


def workgroup_dims(
    constraints: Sequence[Constraint], shape: Collection[Expr], log: int
) -> Iterator[Placed]:
    """The grid axes along which workgroups may hold other values at the same place.

    Of a launch of so many workgroups, which place their work, any two may meet.
    """
    rows = [r for r in with_aliases(constraints) if isinstance(r, WorkgroupConstraint)]
    spread = {
        row.workgroup_dim
        for row in rows
        if row.dim in shape
        and workgroup_symbol(row.workgroup_dim) in row.start.free_symbols
    }
    free = {row.workgroup_dim for row in rows} - spread
    if any(isinstance(row, GridConstraint) for row in constraints):
        free = {0}
    for position, axis in enumerate(sorted(free)):
        extent = extent_symbol(log, position)
        dim = LeadingDim(f"WORKGROUP_{axis}", extent, grid_axis=axis)
        yield dim, workgroup_symbol(axis)


def loops_around(region: Region) -> list[tuple[Loop, int]]:
    """The loops around, the innermost first, each with its depth on its axis."""
    found: list[tuple[Loop, int]] = []
    depths: dict[str, int] = {}
    for loop in reversed(list(region.around)):
        if isinstance(loop, Iterate):
            depth = depths.get(str(loop.axis), 0)
            depths[str(loop.axis)] = depth + 1
            found.insert(0, (loop, depth))
        elif isinstance(loop, While):
            found.insert(0, (loop, 0))
    return found


def iteration_dim(
    loop: Iterate, depth: int, extent: Expr, name: str = "", size: Expr | None = None
) -> Placed:
    """The iterations of a loop; called as its induction symbol by default."""
    start, counter = as_expr(loop.start), induction_symbol(str(loop.axis), depth)
    row = str(loop.axis), start, loop.step
    dim = LeadingDim(name or str(counter), extent, loop=row, size=size)
    return dim, (counter - start) // loop.step


def stored_dtype(dtype: DType) -> DType:
    """The element type of a log: wide enough for a pattern that is no value."""
    if dtype.family is Family.FLOAT:
        return dtype if dtype.bits >= 16 else DTYPES["f32"]
    if dtype.family is Family.INDEX:
        return DTYPES["i64"]
    return dtype if dtype.bits >= 32 else DTYPES["i32"]
