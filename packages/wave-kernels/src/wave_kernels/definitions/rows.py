"""Rows of a matrix, each of one workgroup: held whole, or gone along several times.

Kernels are written once: `once`, `fold` and `each` are a look at the row where it is
held, and a loop along it where it is `long`. What one wave does in the order of a row
has rows of any length, by `wave_constraints`.
"""

# Kernels are written in Wave: symbols as types and sizes.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportCallIssue=false

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw

if TYPE_CHECKING:
    from collections.abc import Callable

M = tkl.sym.M
N = tkl.sym.N
WAVES_N = tkl.sym.WAVES_N

STEP = 256
"""What a wave loads by one instruction: four f32 for each of 64 lanes."""

LONG_STEP = 4 * STEP
"""What a wave looks at at a time of a row that it goes along."""

ROWS = 4
"""Of a workgroup, where each wave has one."""

HELD = 32_768
"""Elements of a row that its waves hold in registers: 128 to a lane.

With four times as many LLVM spills, and takes 20 s to find that it must.
"""


def row_constraints(*, maxima_drop_nan: bool = False, long: bool = False) -> list[Any]:
    """A workgroup for each row of ``[M, N]``, ``WAVES_N`` waves of it at most.

    A wave holds its share of the row, or goes along it where rows are ``long``.
    """
    share, row = shares(N, WAVES_N, LONG_STEP if long else STEP)
    held = tkw.HardwareConstraint(vector_shapes={M: 1, N: share})
    waves = tkw.Tunable(WAVES_N, (4,), narrow=(16,))
    if long:
        held, waves = tkw.HardwareConstraint(), tkw.Tunable(WAVES_N, (16,))
    return [
        held,
        tkw.WorkgroupConstraint(M, 1, 0),
        tkw.WorkgroupConstraint(N, row, 1),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, share),
        *([tkw.TilingConstraint(N, LONG_STEP)] if long else []),
        waves,
        tkw.FastMath(maxima_drop_nan=maxima_drop_nan),
    ]


def wave_constraints(*, maxima_drop_nan: bool = False) -> list[Any]:
    """A wave for each row of ``[M, N]``, which goes along it; both may be dynamic."""
    return [
        tkw.HardwareConstraint(),
        tkw.WorkgroupConstraint(M, ROWS, 0),
        tkw.WaveConstraint(M, 1),
        tkw.TilingConstraint(N, LONG_STEP),
        tkw.FastMath(maxima_drop_nan=maxima_drop_nan),
    ]


@cache
def shares(row: Any, waves: Any, step: int) -> tuple[Any, Any]:
    """What a wave has of a row, and what all of its waves have together.

    Whole steps, so that a short row has fewer waves. Sympy takes 3 ms for it.
    """
    share = sympy.Max(1, sympy.Min(row, step * sympy.ceiling(row / (step * waves))))
    return share, share * sympy.Max(1, sympy.ceiling(row / share))


def once(make: Callable[[], Any], *, long: bool) -> Callable[[], Any]:
    """``make``, which is called once where the row is held."""
    if long:
        return make
    value = make()
    return lambda: value


def fold(
    combine: Callable[..., Any], start: float, make: Callable[[], Any], *, long: bool
) -> Any:
    """What ``combine`` makes of the row of ``make``: one number.

    Shapes: ``make()`` ``[M, N]``, the result ``[M]``. Dtypes: f32.
    """
    if not long:
        return combine(make(), dim=N)

    @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](start)])
    def found(before: Any) -> Any:
        return combine(make(), before, dim=N)

    return found


def along(number: Any) -> Any:
    """A number of the row, for each of its elements."""
    return tkw.broadcast(number, target_shape=[M, N])


def each(act: Callable[[], None], *, long: bool) -> None:
    """Do ``act`` for each part of the row."""
    if not long:
        act()
        return

    @tkw.iterate(N, init_args=[])
    def _() -> None:
        act()
