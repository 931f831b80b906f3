"""Two products of the same rows, of which one gates the other: SwiGLU and its kin."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import user_error
from wave_kernels.definitions.epilogue import ACTIVATIONS, check_activation
from wave_kernels.definitions.products import (
    K,
    M,
    N,
    operand_dims,
    product_constraints,
    sums_of,
    tiles,
)
from wave_kernels.definitions.staging import ADDRESS_SPACE

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.types import DType


def gated_gemm_kernel(
    dtype: DType = tkl.f16,
    mma_type: tkl.MMAType | None = None,
    *,
    layout: str = "NT",
    activation: str = "silu",
    result: DType | None = None,
) -> Any:
    """``c[m, n] = act(sum_k a[m, k] * gate[k, n]) * (sum_k a[m, k] * up[k, n])``.

    A workgroup holds both sums of its tile, so that its rows of ``a`` are read once and
    neither sum is stored. The two letters of ``layout`` stand for a, and for gate and
    up, as in `gemm_kernel`.

    Shapes: ``a: [M, K]`` or transposed ``[K, M]``, ``gate, up: [K, N]`` or transposed
    ``[N, K]``, ``c: [M, N]``. Dtypes: ``a``, ``gate`` and ``up`` ``dtype``: floats, as
    `gemm_kernel` has them; ``c`` ``result``, by default f32. Symbols to bind, what is
    open: as `gemm_kernel`. Accuracy: 1e-3 of the largest result, and half a unit in the
    last place of ``result``; computed in f32 and rounded once.

    Raises:
        UserError: as `gemm_kernel`, and WV0823 for an unknown activation, or operands
            that are integers.
    """
    check_floats(dtype)
    check_activation(activation)
    lhs, rhs = (tkl.Memory[*d, ADDRESS_SPACE, dtype] for d in operand_dims(layout))
    out = tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, result or tkl.f32]
    tried = tiles(dtype, flat=True, sums=2)

    @tkw.wave(product_constraints(dtype, mma_type, tried=tried))
    def gated_gemm(a: lhs, gate: rhs, up: rhs, c: out) -> None:
        rows = partial(tkw.read, a)
        weights = partial(tkw.read, gate), partial(tkw.read, up)
        tkw.write(gated_sums(rows, *weights, activation=activation), c)

    return gated_gemm


def check_floats(dtype: DType) -> None:
    """See that there is an activation of sums of such operands.

    Raises:
        UserError: WV0823 for integers.
    """
    if not sums_of(dtype).is_float:
        raise user_error(
            "WV0823",
            f"a gated product has no operands of `{dtype}`",
            help="gates are floats: give operands of f16, bf16, f32 or 8-bit floats",
        )


def gated_sums(
    rows: Callable[[], Any],
    gate: Callable[[], Any],
    up: Callable[[], Any],
    *,
    activation: str = "silu",
) -> Any:
    """The activation of the sums of one product times those of another.

    Args:
        rows: Reads a tile of rows, which both products have in common.
        gate: Reads a tile of the weights whose sums are activated.
        up: Reads one of the weights whose sums they multiply.
        activation: One of `ACTIVATIONS`.
    """
    zero = tkl.Register[M, N, tkl.f32](0)

    @tkw.iterate(K, init_args=[zero, zero])
    def repeat(gates: Any, ups: Any) -> Any:
        x = rows()
        return tkw.mma(x, gate(), gates), tkw.mma(x, up(), ups)

    gates, ups = repeat
    return ACTIVATIONS[activation](gates) * ups
