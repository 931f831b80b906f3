"""Rows of a table that indices pick."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.rows import M, N

if TYPE_CHECKING:
    from wave_core.types import DType

ROWS = tkl.sym.ROWS
"""Of the table."""

WAVES = 4
SHARE = 256
"""Columns of a wave: four for each of 64 lanes."""

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
_I, _J = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
_ROW = tkw.IndexMapping(
    2,
    inputs={ROWS: tkw.IndexMapping.dynamic_val(0), N: _J},
    outputs={M: _I, N: _J},
    dynamic_val_mappings={M: _I},
)


def gather_kernel(dtype: DType = tkl.f32) -> Any:
    """``y[m, :] = table[indices[m], :]``, and 0 where there is no such row.

    Shapes: ``table: [ROWS, N]``, ``indices: [M]``, ``y: [M, N]``. Dtypes: ``dtype``,
    indices i32. All sizes may be dynamic. Accuracy: exact.
    """

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 1, 0),
            tkw.WorkgroupConstraint(N, SHARE * WAVES, 1),
            tkw.WaveConstraint(N, SHARE),
            tkw.HardwareConstraint(vector_shapes={M: 1, N: SHARE}),
        ]
    )
    def gather(
        table: tkl.Memory[ROWS, N, _GLOBAL, dtype],
        indices: tkl.Memory[M, _GLOBAL, tkl.i32],
        y: tkl.Memory[M, N, _GLOBAL, dtype],
    ) -> None:
        index = (tkw.read(indices),)
        row = tkw.read(
            table, mapping=_ROW, mapping_dynamic_vals=index, bounds={ROWS: ROWS}
        )
        tkw.write(row, y)

    return gather
