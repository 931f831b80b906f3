"""Running sums of rows, and their greatest elements."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.rows import M, N, row_constraints, wave_constraints

if TYPE_CHECKING:
    from wave_core.types import DType

TOP = tkl.sym.TOP
"""How many elements are picked."""

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


def cumsum_kernel(
    dtype: DType = tkl.f32, *, exclusive: bool = False, reverse: bool = False
) -> Any:
    """``y[m, n] = sum(x[m, :n + 1])``.

    Where ``exclusive``, without element n itself; where ``reverse``, of it and those
    after it. Shapes: ``x, y: [M, N]``. Dtypes: ``dtype``, summed in f32 and rounded
    once. A row is held whole by ``WAVES_N`` waves at most, 4 by default, so ``N`` must
    be bound; ``M`` may be dynamic. Accuracy: 1e-6 of the row's sum of absolute values.
    """

    @tkw.wave(row_constraints())
    def cumsum(
        x: tkl.Memory[M, N, _GLOBAL, dtype], y: tkl.Memory[M, N, _GLOBAL, dtype]
    ) -> None:
        row = tkw.cast(tkw.read(x), tkl.f32)
        found = tkw.cumsum(row, dim=N, exclusive=exclusive, reverse=reverse)
        tkw.write(tkw.cast(found, dtype), y)

    return cumsum


def long_cumsum_kernel(
    dtype: DType = tkl.f32, *, exclusive: bool = False, reverse: bool = False
) -> Any:
    """`cumsum_kernel` of rows of any length: a wave goes along its row.

    It carries the sum of what it has passed, from the end on where ``reverse``. Shapes,
    dtypes: as there; ``M`` and ``N`` may be dynamic. Accuracy: 1e-6 of the row's sum of
    absolute values.
    """
    place, column = (tkw.IndexMapping.iterator(i) for i in range(2))
    taken = {M: place, N: N - 1 - column if reverse else column}
    register = {M: place, N: column}
    read = tkw.IndexMapping(2, inputs=taken, outputs=register)
    written = tkw.IndexMapping(2, inputs=register, outputs=taken)

    @tkw.wave(wave_constraints())
    def cumsum(
        x: tkl.Memory[M, N, _GLOBAL, dtype], y: tkl.Memory[M, N, _GLOBAL, dtype]
    ) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](0.0)])
        def _(before: Any) -> Any:
            row = tkw.cast(tkw.read(x, mapping=read), tkl.f32)
            found = tkw.cumsum(row, before, dim=N, exclusive=exclusive)
            tkw.write(tkw.cast(found, dtype), y, mapping=written)
            return tkw.sum(row, before, dim=N)

    return cumsum


def topk_kernel(dtype: DType = tkl.f32) -> Any:
    """The ``TOP`` greatest elements of each row, the greatest first, and their columns.

    Of equal elements that with the lower column comes first; NaN is greater than all.
    Shapes: ``x: [M, N]``, ``values, columns: [M, TOP]``. Dtypes: ``dtype``; columns
    i32. A row is held whole by ``WAVES_N`` waves at most, 4 by default, so ``N`` and
    ``TOP`` must be bound; ``M`` may be dynamic. Accuracy: exact.
    """

    @tkw.wave(row_constraints())
    def topk(
        x: tkl.Memory[M, N, _GLOBAL, dtype],
        values: tkl.Memory[M, TOP, _GLOBAL, dtype],
        columns: tkl.Memory[M, TOP, _GLOBAL, tkl.i32],
    ) -> None:
        found, places = tkw.topk(tkw.read(x), TOP, dim=N)
        tkw.write(found, values)
        tkw.write(places, columns)

    return topk
