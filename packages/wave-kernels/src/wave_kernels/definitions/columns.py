"""Sums of the columns of matrices."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportInvalidTypeForm=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw

if TYPE_CHECKING:
    from wave_core.types import DType

B = tkl.sym.B
M = tkl.sym.M
N = tkl.sym.N

LANES = 128
"""Columns of a wave, two for each lane."""


def column_sums_kernel(dtype: DType = tkl.f32, result: DType = tkl.f32) -> Any:
    """``y[b, n] = sum over m of x[b, m, n]``, a wave for `LANES` columns.

    Shapes: ``x: [B, M, N]``, ``y: [B, N]``. Dtypes: ``x`` ``dtype``, ``y`` ``result``,
    summed in f32. Symbols to bind: ``B``, ``M``, ``N``. Accuracy: 1e-5 of the sum of
    absolute values, and half a unit in the last place of ``result``.
    """
    constraints = [
        tkw.WorkgroupConstraint(B, 1, 0),
        tkw.WorkgroupConstraint(N, LANES, 1),
        tkw.TilingConstraint(M, 1),
        tkw.WaveConstraint(N, LANES),
        tkw.HardwareConstraint(vector_shapes={B: 1, M: 1, N: LANES}),
    ]

    @tkw.wave(constraints)
    def column_sums(
        x: tkl.Memory[B, M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        y: tkl.Memory[B, N, tkl.GLOBAL_ADDRESS_SPACE, result],
    ) -> None:
        @tkw.iterate(M, init_args=[tkl.Register[B, N, tkl.f32](0.0)])
        def repeat(acc: tkl.Register[B, N, tkl.f32]) -> tkl.Register[B, N, tkl.f32]:
            return tkw.sum(tkw.cast(tkw.read(x), tkl.f32), acc, dim=M)

        tkw.write(tkw.cast(repeat, result), y)

    return column_sums
