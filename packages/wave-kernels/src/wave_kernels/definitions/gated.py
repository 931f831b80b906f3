"""One half of a row, through an activation, times the other."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.epilogue import ACTIVATIONS, check_activation
from wave_kernels.definitions.rows import M, N

if TYPE_CHECKING:
    from wave_core.types import DType

PAIR = tkl.sym.PAIR
"""Twice as many columns as the result has."""

WAVES = 4
SHARE = 256
"""Columns of a wave: four for each of 64 lanes."""

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
_I, _J = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)


def gated_kernel(activation: str, dtype: DType = tkl.f32) -> Any:
    """``y[m, n] = act(x[m, n]) * x[m, N + n]``.

    Shapes: ``x: [M, PAIR]``, ``y: [M, N]``; PAIR is twice N. Dtypes: ``dtype``,
    computed in f32 and rounded once. All sizes may be dynamic. Accuracy: 1e-5 of the
    activation times the factor.

    Raises:
        UserError: WV0823 for an unknown activation.
    """
    check_activation(activation)

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 1, 0),
            tkw.WorkgroupConstraint(N, SHARE * WAVES, 1),
            tkw.WaveConstraint(N, SHARE),
            tkw.HardwareConstraint(vector_shapes={M: 1, N: SHARE}),
        ]
    )
    def gated(
        x: tkl.Memory[M, PAIR, _GLOBAL, dtype], y: tkl.Memory[M, N, _GLOBAL, dtype]
    ) -> None:
        gate, factor = _half(x, _J), _half(x, _J + N)
        tkw.write(tkw.cast(ACTIVATIONS[activation](gate) * factor, dtype), y)

    return gated


def _half(x: Any, column: Any) -> Any:
    found = tkw.IndexMapping(2, inputs={M: _I, PAIR: column}, outputs={M: _I, N: _J})
    return tkw.cast(tkw.read(x, mapping=found), tkl.f32)
