"""Rows of a table, where others take their place or are added to them."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.gather import ROWS, SHARE, WAVES
from wave_kernels.definitions.groups import STARTS, enter_part
from wave_kernels.definitions.rows import M, N

if TYPE_CHECKING:
    from wave_core.types import DType

NEW = tkl.sym.NEW
"""Rows that come to the table."""

FIRST, COUNT = tkl.sym.FIRST, tkl.sym.COUNT
"""Of the rows in order, the first that belongs to a workgroup's, and how many do."""

BLOCK = 8
"""Rows on their way at a time."""

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
_R, _I, _J = (tkw.IndexMapping.iterator(i) for i in range(3))
_TAKEN = tkw.IndexMapping(
    2,
    inputs={NEW: tkw.IndexMapping.dynamic_val(0), N: _I},
    outputs={ROWS: _R, N: _I},
    dynamic_val_mappings={ROWS: _R},
)
_ADDED = tkw.IndexMapping(
    3,
    inputs={NEW: tkw.IndexMapping.dynamic_val(0), N: _J},
    outputs={ROWS: _R, M: _I, N: _J},
    dynamic_val_mappings={M: _I},
)
_ORDER = tkw.IndexMapping(1, inputs={M: _R + FIRST}, outputs={M: _R})


def scatter_kernel(dtype: DType = tkl.f32) -> Any:
    """``y[r, :] = rows[last[r], :]``, and ``x[r, :]`` where ``last[r]`` is negative.

    Shapes: ``x, y: [ROWS, N]``, ``last: [ROWS]``, ``rows: [NEW, N]``. Dtypes:
    ``dtype``, last i32. All sizes may be dynamic. Accuracy: exact.
    """

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(ROWS, 1, 0),
            tkw.WorkgroupConstraint(N, SHARE * WAVES, 1),
            tkw.WaveConstraint(N, SHARE),
            tkw.HardwareConstraint(vector_shapes={ROWS: 1, N: SHARE}),
        ]
    )
    def scatter(
        x: tkl.Memory[ROWS, N, _GLOBAL, dtype],
        last: tkl.Memory[ROWS, _GLOBAL, tkl.i32],
        rows: tkl.Memory[NEW, N, _GLOBAL, dtype],
        y: tkl.Memory[ROWS, N, _GLOBAL, dtype],
    ) -> None:
        place = tkw.read(last)
        row = tkw.read(
            rows, mapping=_TAKEN, mapping_dynamic_vals=(place,), bounds={NEW: NEW}
        )
        taken = tkw.broadcast(
            place >= tkl.Register[ROWS, tkl.i32](0), target_shape=[ROWS, N]
        )
        tkw.write(tkw.select(taken, row, tkw.read(x)), y)

    return scatter


def scatter_add_kernel(dtype: DType = tkl.f32) -> Any:
    """``y[r, :] = x[r, :] + sum_m rows[order[m], :]``, m from where r starts.

    Row r has the numbers from ``starts[r]`` up to ``starts[r + 1]`` of ``order``. A
    workgroup is of one r, and adds its rows in their order: no two add to one place.

    Shapes: ``x, y: [ROWS, N]``, ``order: [M]``, ``starts: [ENDS]``, one more than ROWS,
    ``rows: [NEW, N]``. Dtypes: ``dtype``, summed in f32; order and starts i32. All
    sizes may be dynamic. Accuracy: 1e-5 of the greatest sum of absolute values, and
    half a unit in the last place of ``dtype``.
    """

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(ROWS, 1, 0),
            tkw.WorkgroupConstraint(N, SHARE * WAVES, 1),
            tkw.TilingConstraint(M, BLOCK, iters=sympy.ceiling(COUNT / BLOCK)),
            tkw.WaveConstraint(N, SHARE),
            tkw.HardwareConstraint(vector_shapes={ROWS: 1, M: 1, N: SHARE}),
        ]
    )
    def scatter_add(
        x: tkl.Memory[ROWS, N, _GLOBAL, dtype],
        order: tkl.Memory[M, _GLOBAL, tkl.i32],
        starts: STARTS,
        rows: tkl.Memory[NEW, N, _GLOBAL, dtype],
        y: tkl.Memory[ROWS, N, _GLOBAL, dtype],
    ) -> None:
        enter_part(starts, ROWS, FIRST, COUNT)

        @tkw.iterate(M, init_args=[tkw.cast(tkw.read(x), tkl.f32)])
        def repeat(acc: tkl.Register[ROWS, N, tkl.f32]) -> Any:
            place = tkw.read(order, mapping=_ORDER, bounds={M: FIRST + COUNT})
            row = tkw.read(
                rows, mapping=_ADDED, mapping_dynamic_vals=(place,), bounds={M: COUNT}
            )
            return tkw.sum(tkw.cast(row, tkl.f32), acc, dim=M)

        tkw.write(tkw.cast(repeat, dtype), y)

    return scatter_add
