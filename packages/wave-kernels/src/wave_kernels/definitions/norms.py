"""Normalisation of the rows of a matrix, a workgroup a row."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportInvalidTypeForm=false

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
    from collections.abc import Callable

    from wave_core.types import DType


def _mean(row: Callable[[], Any], *, long: bool) -> Any:
    """The mean of a row."""
    return fold(tkw.sum, 0.0, row, long=long) / tkw.scalar(N, tkl.f32)


def _square(value: Any) -> Any:
    return value * value


def _of_columns(values: Any) -> Any:
    """One number a column, for each row."""
    wide = tkw.cast(tkw.read(values), tkl.f32)
    return tkw.broadcast(wide, target_shape=[M, N])


def rms_norm_kernel(dtype: DType = tkl.f32, *, long: bool = False) -> Any:
    """``y[m, :] = x[m, :] / sqrt(mean(x[m, :]^2) + eps) * w``.

    Shapes: ``x, y: [M, N]``, ``w: [N]``. Dtypes: ``dtype``, computed in f32, ``eps``
    f32. A row is held whole by ``WAVES_N`` waves at most, 4 by default, so ``N`` must
    be bound; ``M`` may be dynamic. Where rows are ``long``, 16 waves go along them for
    each mean and for the results. Accuracy: in f32 1e-5 of the row's largest result,
    with fast math too, which is therefore the default; else that of rounding to
    ``dtype``. Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.
    """

    @tkw.wave(row_constraints(long=long))
    def rms_norm(
        x: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        w: tkl.Memory[N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        eps: tkl.f32,
        y: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        row = once(lambda: tkw.cast(tkw.read(x), tkl.f32), long=long)
        mean = _mean(lambda: _square(row()), long=long)

        def put() -> None:
            scale = tkw.rsqrt(along(mean) + eps)
            tkw.write(tkw.cast(row() * scale * _of_columns(w), dtype), y)

        each(put, long=long)

    return rms_norm


def layer_norm_kernel(dtype: DType = tkl.f32, *, long: bool = False) -> Any:
    """``y[m, :] = (x[m, :] - mean) / sqrt(variance + eps) * w + b``, a row's own.

    The mean is subtracted before anything is squared. Shapes: ``x, y: [M, N]``,
    ``w, b: [N]``. Dtypes, sizes and accuracy: as `rms_norm_kernel`. Source: Ba, Kiros
    and Hinton, Layer Normalization, 2016.
    """

    @tkw.wave(row_constraints(long=long))
    def layer_norm(
        x: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        w: tkl.Memory[N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        b: tkl.Memory[N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        eps: tkl.f32,
        y: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        row = once(lambda: tkw.cast(tkw.read(x), tkl.f32), long=long)
        mean = _mean(row, long=long)
        moved = once(lambda: row() - along(mean), long=long)
        variance = _mean(lambda: _square(moved()), long=long)

        def put() -> None:
            scale = tkw.rsqrt(along(variance) + eps)
            found = moved() * scale * _of_columns(w) + _of_columns(b)
            tkw.write(tkw.cast(found, dtype), y)

        each(put, long=long)

    return layer_norm
