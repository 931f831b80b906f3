"""Matrix product of single rows: no matrix instruction, all lanes along ``K``."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false
# pyright: reportGeneralTypeIssues=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.epilogue import (
    ACTIVATIONS,
    PLAIN,
    Epilogue,
    check_activation,
)
from wave_kernels.definitions.gated_gemm import check_floats
from wave_kernels.definitions.products import K, M, N
from wave_kernels.definitions.rows import STEP, shares

if TYPE_CHECKING:
    from wave_core.types import DType

COLUMNS = 2
"""Of a workgroup: what a lane has of the row is in registers for both."""

WAVES = 4
"""Of a workgroup, which share ``K``; more of them where it is long."""

HELD = 24_576
"""Bytes that a wave holds of the row and of what it is multiplied by.

192 registers of each of 32 lanes: with more waves of fewer a unit fetches less at once.
"""

LONGEST = 65_536
"""Bytes of a row for which a workgroup has waves enough."""

_PRODUCTS = (M, N, K)


def gemv_kernel(
    dtype: DType = tkl.f16, *, result: DType | None = None, epilogue: Epilogue = PLAIN
) -> Any:
    """``c[m, n] = sum_k a[m, k] * b[n, k]`` for few ``m``, finished by ``epilogue``.

    Where there is one row a product takes as long as reading ``b``. A workgroup has
    `COLUMNS` rows of ``b`` and one of ``a``. All of its loads are on their way at once:
    its waves hold what they have of ``K``. Each row of ``a`` reads all of ``b``.

    Shapes, what the epilogue adds and its place: as `gemm_kernel` of layout ``NT``.
    Dtypes: ``a``, ``b`` and what is added ``dtype``, floats; ``c`` ``result``, by
    default f32. Symbols to bind: ``K``, a row of at most `LONGEST`, ``M`` and ``N``,
    which may be dynamic. Accuracy: as `gemm_kernel`.

    Raises:
        UserError: WV0823 for operands that are integers.
    """
    check_floats(dtype)
    spread = _constraints(dtype)
    row, rows, columns, whole, out = _memories(dtype, result)

    @tkw.wave(spread)
    def gemv(a: row, b: rows, c: out) -> None:
        tkw.write(epilogue.activated(_sums(a, b)), c)

    @tkw.wave(spread)
    def gemv_bias(a: row, b: rows, bias: columns, c: out) -> None:
        tkw.write(epilogue.activated(_sums(a, b) + _wide(bias)), c)

    @tkw.wave(spread)
    def gemv_residual(a: row, b: rows, residual: whole, c: out) -> None:
        tkw.write(epilogue.activated(_sums(a, b)) + _wide(residual), c)

    @tkw.wave(spread)
    def gemv_bias_residual(
        a: row, b: rows, bias: columns, residual: whole, c: out
    ) -> None:
        finished = epilogue.activated(_sums(a, b) + _wide(bias))
        tkw.write(finished + _wide(residual), c)

    if epilogue.residual:
        return gemv_bias_residual if epilogue.bias else gemv_residual
    return gemv_bias if epilogue.bias else gemv


def gated_gemv_kernel(
    dtype: DType = tkl.f16, *, activation: str = "silu", result: DType | None = None
) -> Any:
    """``c[m, n] = act(sum_k a[m, k] * gate[n, k]) * (sum_k a[m, k] * up[n, k])``.

    Few rows, as `gemv_kernel`. Shapes: ``a: [M, K]``, ``gate, up: [N, K]``,
    ``c: [M, N]``. Dtypes, symbols and accuracy: as `gemv_kernel`.

    Raises:
        UserError: WV0823 for an unknown activation, or operands that are integers.
    """
    check_floats(dtype)
    check_activation(activation)
    spread = _constraints(dtype, weights=2)
    row, rows, _, _, out = _memories(dtype, result)

    @tkw.wave(spread)
    def gated_gemv(a: row, gate: rows, up: rows, c: out) -> None:
        tkw.write(ACTIVATIONS[activation](_sums(a, gate)) * _sums(a, up), c)

    return gated_gemv


def _constraints(dtype: DType, weights: int = 1) -> list[Any]:
    """How columns and ``K`` spread, for so many matrices of weights."""
    held = 1 + weights * COLUMNS
    waves = sympy.Max(WAVES, sympy.ceiling(K * dtype.bits * held / (8 * HELD)))
    share, row = shares(K, waves, STEP)
    return [
        tkw.HardwareConstraint(vector_shapes={M: 1, N: 1}),
        tkw.WorkgroupConstraint(N, COLUMNS, 0),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.WorkgroupConstraint(K, row, 2),
        tkw.WaveConstraint(N, COLUMNS),
        tkw.WaveConstraint(K, share),
    ]


def _memories(dtype: DType, result: DType | None) -> tuple[Any, ...]:
    """A row, rows of b, numbers of columns, what is added to c, and c."""
    space = tkl.GLOBAL_ADDRESS_SPACE
    given = ((M, K), (N, K), (N,), (M, N))
    return (
        *(tkl.Memory[*dims, space, dtype] for dims in given),
        tkl.Memory[M, N, space, result or tkl.f32],
    )


def _sums(a: Any, b: Any) -> Any:
    row, rows = (
        tkw.broadcast(tkw.cast(tkw.read(each), tkl.f32), target_shape=_PRODUCTS)
        for each in (a, b)
    )
    return tkw.sum(row * rows, dim=K, block=True)


def _wide(added: Any) -> Any:
    """What is added to sums, for each of them."""
    each = tkw.cast(tkw.read(added), tkl.f32)
    return tkw.broadcast(each, target_shape=[M, N])
