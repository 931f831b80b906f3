"""Cross entropy of the rows of a matrix, a wave a row."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false

from __future__ import annotations

from math import inf, log, nan
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.rows import M, N, along, wave_constraints
from wave_kernels.definitions.softmax import LOG2_E

if TYPE_CHECKING:
    from wave_core.types import DType

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


def cross_entropy_kernel(dtype: DType = tkl.f32, *, smoothed: bool = False) -> Any:
    """``loss[m] = lse[m] - x[m, t[m]]``, where ``lse[m] = log(sum(exp(x[m, :])))``.

    A wave goes along its row twice: for the maximum, which is subtracted before
    anything is raised, and for the sums. So rows may be of any length. Where
    ``smoothed``, ``loss[m] = lse[m] - (1 - smoothing) x[m, t[m]] - smoothing
    mean(x[m, :])``. A row whose target is ``ignored`` has no loss, 0; one whose target
    is no column has NaN.

    Shapes: ``x: [M, N]``, ``targets, loss, lse: [M]``. Dtypes: ``dtype``, computed in
    f32; targets and ``ignored`` i32, ``smoothing``, loss and lse f32. ``M`` and ``N``
    may be dynamic. Accuracy: 1e-5 of the greatest
    absolute value of the row, and 1e-6 at least. A row with NaN or plus infinity, or
    with nothing but minus infinity, becomes NaN.
    """

    @tkw.wave(wave_constraints(maxima_drop_nan=True))
    def cross_entropy(
        x: tkl.Memory[M, N, _GLOBAL, dtype],
        targets: tkl.Memory[M, _GLOBAL, tkl.i32],
        ignored: tkl.i32,
        smoothing: tkl.f32,
        loss: tkl.Memory[M, _GLOBAL, tkl.f32],
        lse: tkl.Memory[M, _GLOBAL, tkl.f32],
    ) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](-inf)])
        def most(before: Any) -> Any:
            return tkw.max(_wide(x), before, dim=N)

        none = tkl.Register[M, tkl.f32](0.0)
        target = tkw.read(targets)

        @tkw.iterate(N, init_args=[none, none, none])
        def sums(powers: Any, picked: Any, every: Any) -> Any:
            row = _wide(x)
            power = tkw.exp2((row - along(most)) * LOG2_E)
            own = tkw.self_index(N, tkl.i32) == along(target)
            found = tkw.select(own, row, tkl.Register[M, N, tkl.f32](0.0))
            return (
                tkw.sum(power, powers, dim=N),
                tkw.sum(found, picked, dim=N),
                tkw.sum(row, every, dim=N) if smoothed else every,
            )

        powers, picked, every = sums
        total = most + tkw.log2(powers) * log(2)
        likely = picked
        if smoothed:
            mean = every / tkw.scalar(N, tkl.f32)
            likely = picked + smoothing * (mean - picked)
        tkw.write(total, lse)
        tkw.write(_counted(total - likely, target, ignored), loss)

    return cross_entropy


def _wide(x: Any) -> Any:
    return tkw.cast(tkw.read(x), tkl.f32)


def _counted(loss: Any, target: Any, ignored: Any) -> Any:
    """The loss of rows that have one."""
    none, wrong = (tkl.Register[M, tkl.f32](each) for each in (0.0, nan))
    inside = (target >= 0) & (target < tkw.scalar(N, tkl.i32))
    return tkw.select(target == ignored, none, tkw.select(inside, loss, wrong))
