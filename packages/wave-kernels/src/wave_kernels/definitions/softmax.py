"""Softmax over the rows of a matrix, a workgroup a row."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from math import e, inf, log2
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.rows import (
    M,
    N,
    along,
    each,
    fold,
    once,
    row_constraints,
)

if TYPE_CHECKING:
    from wave_core.types import DType

LOG2_E = log2(e)
"""exp(x) = exp2(x * log2(e)): the hardware's exponential is base 2."""


def softmax_kernel(dtype: DType = tkl.f32, *, long: bool = False) -> Any:
    """``b[m, :] = softmax(a[m, :])``, the maximum subtracted first.

    Shapes: ``a, b: [M, N]``. Dtypes: ``dtype``, computed in f32. A row is held whole by
    ``WAVES_N`` waves at most, 4 by default, so ``N`` must be bound; ``M`` may be
    dynamic. Where rows are ``long``, 16 waves go along them three times. Accuracy: in
    f32 1e-5 of each result that is larger than 1e-30, with fast math too, which is
    therefore the default; else that of rounding to ``dtype``. A row with NaN or plus
    infinity, or with nothing but minus infinity, becomes NaN.
    """

    @tkw.wave(row_constraints(maxima_drop_nan=True, long=long))
    def softmax(
        a: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        b: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        row = once(lambda: tkw.cast(tkw.read(a), tkl.f32), long=long)
        most = fold(tkw.max, -inf, row, long=long)
        power = once(lambda: tkw.exp2((row() - along(most)) * LOG2_E), long=long)
        total = fold(tkw.sum, 0.0, power, long=long)
        each(lambda: tkw.write(tkw.cast(power() / along(total), dtype), b), long=long)

    return softmax
