"""Rows in types of one byte, with a scale each."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false

from __future__ import annotations

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

GREATEST: dict[DType, float] = {
    tkl.f8e4m3fn: 448.0,
    tkl.f8e5m2: 57_344.0,
    tkl.i8: 127.0,
}
"""The greatest element of a row becomes this. Source of the floats: OCP 8-bit floating
point specification 1.0, table 1."""

LEAST_SCALE = 2.0**-126
"""The least normal f32, which division can take; a row of zeros has it."""

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


def quantize_kernel(
    stored: DType, dtype: DType = tkl.f32, *, long: bool = False
) -> Any:
    """``q[m, :] = round(x[m, :] / scale[m])``, ``scale[m] = max(abs(x[m, :])) / most``.

    ``most`` is the greatest finite number of ``stored``, 127 of i8; numbers between two
    go to the nearer one, or to the even one. A scale is 2^-126 at least. A row with NaN
    or infinity has such a scale; where a quotient is NaN, an i8 is 0.

    Shapes: ``x, q: [M, N]``, ``scale: [M]``. Dtypes: ``dtype``, ``stored`` of f8e4m3fn,
    f8e5m2 or i8, scales f32. A row is held whole by ``WAVES_N`` waves at most, 4 by
    default, so ``N`` must be bound; ``M`` may be dynamic. Where rows are ``long``, 16
    waves go along them twice. Accuracy: scales 1e-6 of themselves, quotients as well
    before they are rounded.
    """

    @tkw.wave(row_constraints(long=long))
    def quantize(
        x: tkl.Memory[M, N, _GLOBAL, dtype],
        q: tkl.Memory[M, N, _GLOBAL, stored],
        scale: tkl.Memory[M, _GLOBAL, tkl.f32],
    ) -> None:
        row = once(lambda: tkw.cast(tkw.read(x), tkl.f32), long=long)
        most = fold(tkw.max, 0.0, lambda: tkw.abs(row()), long=long)
        step = tkw.maximum(most / GREATEST[stored], LEAST_SCALE)
        each(lambda: tkw.write(_rounded(row() / along(step), stored), q), long=long)
        tkw.write(step, scale)

    return quantize


def _rounded(quotient: Any, stored: DType) -> Any:
    if stored.is_float:
        return tkw.cast(quotient, stored)
    zero = tkl.Register[M, N, tkl.f32](0.0)
    number = tkw.select(tkw.eq(quotient, quotient), tkw.roundeven(quotient), zero)
    return tkw.cast(number, stored)
