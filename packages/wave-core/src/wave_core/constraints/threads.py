"""Threads: dimensions whose elements are the threads of a workgroup.

Code for single threads computes on tiles over these dimensions, of which each lane
holds one element. The extent of the dimension, the number of threads, has its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.constraints.base import MAX_AXES
from wave_core.constraints.distribution import (
    WaveConstraint,
    WorkgroupConstraint,
    wave_symbol,
)
from wave_core.constraints.hardware import HardwareConstraint
from wave_core.symbols import Expr, Facts, constant, symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.constraints.base import Constraint
    from wave_core.diagnostics import Location

_NAME = "$THREADS"


def threads_symbol(axis: int) -> Expr:
    """The dimension of the threads of a workgroup on axis ``axis``, and its extent."""
    return symbol(f"{_NAME}{axis}")


def thread_symbol(axis: int) -> Expr:
    """The position of a thread in its workgroup on axis ``axis``."""
    return symbol(f"$T{axis}")


def of_waves(expr: Expr, lanes: int, axes: int = MAX_AXES) -> Expr | None:
    """An expression of numbers of threads, in terms of the wave's own.

    ``None`` where the ``lanes`` of a wave differ in it. There is one wave along axes
    from ``axes`` on.
    """
    waves = [wave_symbol(axis) for axis in range(axes)]
    waves += [constant(0)] * (MAX_AXES - axes)
    own = {thread_symbol(axis): wave for axis, wave in enumerate(waves)}
    first = waves[0] * lanes
    known = Facts()
    found = {
        known.simplify(expr.subs({**own, thread_symbol(0): first + lane}))
        for lane in range(lanes)
    }
    return found.pop() if len(found) == 1 else None


def thread_rows(
    constraints: Sequence[Constraint], location: Location
) -> tuple[Constraint, ...]:
    """The rows that spread threads over the waves and lanes of a workgroup.

    Each workgroup has all of them, so that no grid follows from them. Where no other
    row sizes an axis, it has one workgroup.
    """
    groups = [row for row in constraints if isinstance(row, WorkgroupConstraint)]
    sized = {row.workgroup_dim for row in groups if row.primary}
    rows: list[Constraint] = []
    for axis, waves in enumerate(_waves(constraints)):
        if axis and waves == 1:
            continue
        dim, zero, primary = threads_symbol(axis), constant(0), axis not in sized
        rows += [
            WorkgroupConstraint(dim, dim, axis, zero, primary, location=location),
            WaveConstraint(dim, dim // waves, location=location),
        ]
    return tuple(rows)


def thread_dims(constraints: Sequence[Constraint]) -> tuple[Expr, ...]:
    """The dimensions of a kernel's threads; none of a kernel on tiles."""
    groups = (row for row in constraints if isinstance(row, WorkgroupConstraint))
    return tuple(row.dim for row in groups if str(row.dim).startswith(_NAME))


def thread_counts(constraints: Sequence[Constraint], lanes: int) -> dict[Expr, int]:
    """The threads of a workgroup on each axis, where waves have ``lanes`` lanes."""
    waves = dict(enumerate(_waves(constraints)))
    axes = {threads_symbol(axis): axis for axis in waves}
    rows = [(dim, axes[dim]) for dim in thread_dims(constraints)]
    return {dim: waves[axis] * (1 if axis else lanes) for dim, axis in rows}


def _waves(constraints: Sequence[Constraint]) -> tuple[int, ...]:
    hardware = [row for row in constraints if isinstance(row, HardwareConstraint)]
    given = hardware[0].waves_per_block if hardware else None
    return (1,) if given is None else given
