"""Matrices with rows and columns exchanged."""

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

B = tkl.sym.B
"""Matrices."""

BLOCK = 64
"""Rows and columns of a tile, a quarter for each of four waves."""

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


def transpose_kernel(dtype: DType = tkl.f32) -> Any:
    """``y[b, n, m] = x[b, m, n]``.

    A tile goes through LDS, so that rows of both are read and written along memory.
    Shapes: ``x: [B, M, N]``, ``y: [B, N, M]``. Dtypes: ``dtype``. All sizes may be
    dynamic. Accuracy: exact.
    """

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, BLOCK, 0),
            tkw.WorkgroupConstraint(N, BLOCK, 1),
            tkw.WorkgroupConstraint(B, 1, 2),
            tkw.WaveConstraint(M, BLOCK // 2),
            tkw.WaveConstraint(N, BLOCK // 2),
            tkw.HardwareConstraint(),
        ]
    )
    def transpose(
        x: tkl.Memory[B, M, N, _GLOBAL, dtype], y: tkl.Memory[B, N, M, _GLOBAL, dtype]
    ) -> None:
        tile = tkw.allocate((B, M, N), (1, BLOCK, BLOCK), dtype)
        tkw.write(tkw.read(x), tile)
        tkw.shared_memory_barrier()
        tkw.write(tkw.permute(tkw.read(tile), [B, N, M]), y)

    return transpose
