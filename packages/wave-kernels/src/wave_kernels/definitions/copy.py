"""Elementwise copy: the smallest kernel that distributes a tensor."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw

if TYPE_CHECKING:
    from wave_core.types import DType

M = tkl.sym.M
N = tkl.sym.N
BLOCK_M = tkl.sym.BLOCK_M
BLOCK_N = tkl.sym.BLOCK_N
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE


def copy_kernel(dtype: DType = tkl.f16) -> Any:
    """``b[m, n] = a[m, n]`` for any shape; one wave a workgroup.

    Shapes: ``a, b: [M, N]``. Dtypes: ``dtype``, bit for bit. Symbols to bind:
    ``BLOCK_M``, ``BLOCK_N``, ``ADDRESS_SPACE``; ``M`` and ``N`` may be dynamic.
    """
    constraints = [
        tkw.HardwareConstraint(),
        tkw.WorkgroupConstraint(M, BLOCK_M, 1),
        tkw.WorkgroupConstraint(N, BLOCK_N, 0),
        tkw.WaveConstraint(M, BLOCK_M),
        tkw.WaveConstraint(N, BLOCK_N),
    ]

    @tkw.wave(constraints)
    def copy(
        a: tkl.Memory[M, N, ADDRESS_SPACE, dtype],
        b: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        res = tkw.read(a)
        tkw.write(res, b)

    return copy
