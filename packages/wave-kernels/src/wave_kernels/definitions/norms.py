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
from wave_kernels.definitions.rows import M, N, row_constraints

if TYPE_CHECKING:
    from wave_core.types import DType


def _mean(row: Any) -> Any:
    """The mean of a row, for each of its elements."""
    total = tkw.sum(row, dim=N)
    return tkw.broadcast(total / tkw.scalar(N, tkl.f32), target_shape=[M, N])


def _of_columns(values: Any) -> Any:
    """One number a column, for each row."""
    wide = tkw.cast(tkw.read(values), tkl.f32)
    return tkw.broadcast(wide, target_shape=[M, N])


def rms_norm_kernel(dtype: DType = tkl.f32) -> Any:
    """``y[m, :] = x[m, :] / sqrt(mean(x[m, :]^2) + eps) * w``.

    Shapes: ``x, y: [M, N]``, ``w: [N]``. Dtypes: ``dtype``, computed in f32, ``eps``
    f32. A row is held whole by ``WAVES_N`` waves at most, 4 by default, so ``N`` must
    be bound; ``M`` may be dynamic. Accuracy: in f32 1e-5 of the row's largest result,
    with fast math too, which is therefore the default; else that of rounding to
    ``dtype``. Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.
    """

    @tkw.wave(row_constraints())
    def rms_norm(
        x: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        w: tkl.Memory[N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        eps: tkl.f32,
        y: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        row = tkw.cast(tkw.read(x), tkl.f32)
        scale = tkw.rsqrt(_mean(row * row) + eps)
        tkw.write(tkw.cast(row * scale * _of_columns(w), dtype), y)

    return rms_norm


def layer_norm_kernel(dtype: DType = tkl.f32) -> Any:
    """``y[m, :] = (x[m, :] - mean) / sqrt(variance + eps) * w + b``, a row's own.

    The mean is subtracted before anything is squared. Shapes: ``x, y: [M, N]``,
    ``w, b: [N]``. Dtypes, sizes and accuracy: as `rms_norm_kernel`. Source: Ba, Kiros
    and Hinton, Layer Normalization, 2016.
    """

    @tkw.wave(row_constraints())
    def layer_norm(
        x: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        w: tkl.Memory[N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        b: tkl.Memory[N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
        eps: tkl.f32,
        y: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        row = tkw.cast(tkw.read(x), tkl.f32)
        row = row - _mean(row)
        scale = tkw.rsqrt(_mean(row * row) + eps)
        found = row * scale * _of_columns(w) + _of_columns(b)
        tkw.write(tkw.cast(found, dtype), y)

    return layer_norm
