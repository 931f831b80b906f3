"""Matrix product: the kernel of the tutorial, in each layout."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportInvalidTypeForm=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.products import (
    K,
    M,
    N,
    operand_dims,
    product_constraints,
    sums_of,
)
from wave_kernels.definitions.staging import ADDRESS_SPACE  # noqa: TC001 - looked up

if TYPE_CHECKING:
    from wave_core.types import DType


def gemm_kernel(
    dtype: DType = tkl.f16,
    mma_type: tkl.MMAType | None = None,
    *,
    layout: str = "NT",
    result: DType | None = None,
) -> Any:
    """``c[m, n] = sum_k a[m, k] * b[k, n]``, whatever the order in memory.

    The two letters of ``layout`` stand for a and b: ``N`` is the order of the formula,
    ``T`` the transposed one.

    Shapes: ``a: [M, K]`` or transposed ``[K, M]``, ``b: [K, N]`` or transposed
    ``[N, K]``, ``c: [M, N]``. Dtypes: ``a`` and ``b`` ``dtype``: f16, bf16, f32, floats
    of 8 bits or i8, where the target has a matrix instruction for it; ``c`` ``result``,
    by default what is summed in, which is f32, or i32 for i8. Symbols to bind: ``M``,
    ``N`` and ``K``, which may be dynamic. Tiles, counts of waves and ``ADDRESS_SPACE``
    are open. Accuracy: of max(abs(a) abs(b)) 1e-3, and half a unit in the last place
    of ``result``; i32 is exact, modulo 2**32.

    Raises:
        UserError: WV0823 for another layout; from compilation WV0702 where the target
            has no instruction for ``dtype``, WV0204 for a float result of integers.
    """
    a_dims, b_dims = operand_dims(layout)
    sums = sums_of(dtype)
    stored = sums if result is None else result

    @tkw.wave(product_constraints(dtype, mma_type))
    def gemm(
        a: tkl.Memory[*a_dims, ADDRESS_SPACE, dtype],
        b: tkl.Memory[*b_dims, ADDRESS_SPACE, dtype],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, stored],
    ) -> None:
        c_reg = tkl.Register[M, N, sums](0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, N, sums]) -> tkl.Register[M, N, sums]:
            a_reg = tkw.read(a)
            b_reg = tkw.read(b)
            return tkw.mma(a_reg, b_reg, acc)

        tkw.write(repeat, c)

    return gemm
