"""Weighted sums of rows that a table picks."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.products import N
from wave_kernels.definitions.routing import CHOICES, PAIRS, TOKENS

if TYPE_CHECKING:
    from wave_core.types import DType

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
_I, _J = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
_ROW = tkw.IndexMapping(
    2,
    inputs={PAIRS: tkw.IndexMapping.dynamic_val(0), N: _J},
    outputs={TOKENS: _I, N: _J},
    dynamic_val_mappings={TOKENS: _I},
)


def combine_kernel(choices: int, dtype: DType = tkl.f32) -> Any:
    """``y[t, :] = sum_j weights[t, j] * rows[places[t, j], :]``, in the order of j.

    Shapes: ``rows: [PAIRS, N]``, ``places, weights: [TOKENS, CHOICES]``, of which there
    are ``choices``, ``y: [TOKENS, N]``. Dtypes: ``dtype``, summed in f32; places i32,
    weights f32. Symbols to bind: ``N`` and ``CHOICES``; ``PAIRS`` and ``TOKENS``, which
    may be dynamic. Accuracy: 1e-6 of the greatest sum(abs(weights) abs(rows)), and half
    a unit in the last place of ``dtype``.
    """

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(TOKENS, 1, 0),
            tkw.WorkgroupConstraint(N, 1024, 1),
            tkw.WaveConstraint(N, 256),
            tkw.HardwareConstraint(),
        ]
    )
    def combine(
        rows: tkl.Memory[PAIRS, N, _GLOBAL, dtype],
        places: tkl.Memory[TOKENS, CHOICES, _GLOBAL, tkl.i32],
        weights: tkl.Memory[TOKENS, CHOICES, _GLOBAL, tkl.f32],
        y: tkl.Memory[TOKENS, N, _GLOBAL, dtype],
    ) -> None:
        total = tkl.Register[TOKENS, N, tkl.f32](0.0)
        for j in range(choices):
            place = (_choice(places, j),)
            row = tkw.read(rows, mapping=_ROW, mapping_dynamic_vals=place)
            weight = tkw.broadcast(_choice(weights, j), target_shape=[TOKENS, N])
            total = total + weight * tkw.cast(row, tkl.f32)
        tkw.write(tkw.cast(total, dtype), y)

    return combine


def _choice(memory: Any, j: int) -> Any:
    """What a token has for its choice j."""
    found = tkw.IndexMapping(1, inputs={TOKENS: _I, CHOICES: j}, outputs={TOKENS: _I})
    return tkw.read(memory, mapping=found)
