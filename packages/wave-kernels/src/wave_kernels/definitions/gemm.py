"""Matrix product, in each layout, with what is done to its sums."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportInvalidTypeForm=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.epilogue import PLAIN, Epilogue
from wave_kernels.definitions.products import (
    PARTS,
    K,
    M,
    N,
    operand_dims,
    product_constraints,
    sums_of,
    tiles,
    tiles_in_parts,
)
from wave_kernels.definitions.staging import ADDRESS_SPACE

if TYPE_CHECKING:
    from wave_core.types import DType


B = tkl.sym.B


def _constraints(
    dtype: DType, mma_type: tkl.MMAType | None, *, batched: bool, parts: bool
) -> list[Any]:
    """How a product spreads; a workgroup has one of the batch, and all parts of K."""
    tried = tiles_in_parts(dtype) if parts else tiles(dtype)
    found = product_constraints(dtype, mma_type, tried=tried)
    if batched:
        found.append(tkw.WorkgroupConstraint(B, 1, 2))
    if parts:
        axis = 3 if batched else 2
        found.append(tkw.WorkgroupConstraint(PARTS, PARTS, axis))
        found.append(tkw.WaveConstraint(PARTS, 1))
    return found


def gemm_kernel(
    dtype: DType = tkl.f16,
    mma_type: tkl.MMAType | None = None,
    *,
    layout: str = "NT",
    result: DType | None = None,
    epilogue: Epilogue = PLAIN,
    batched: bool = False,
    parts: bool = False,
) -> Any:
    """``c[m, n] = sum_k a[m, k] * b[k, n]``, whatever the order in memory.

    The two letters of ``layout`` stand for a and b: ``N`` is the order of the formula,
    ``T`` the transposed one. The sums are finished by ``epilogue``; what it adds comes
    between b and c: ``bias``, then ``residual``, those of them that there are.

    Shapes: ``a: [M, K]`` or transposed ``[K, M]``, ``b: [K, N]`` or transposed
    ``[N, K]``, ``bias: [N]``, ``residual, c: [M, N]``; where ``batched`` all but
    ``bias`` have ``B`` in front. Dtypes: ``a``, ``b`` and what is added ``dtype``: f16,
    bf16, f32, floats of 8 bits or i8, where the target has a matrix instruction for it;
    ``c`` ``result``, by default what is summed in, which is f32, or i32 for i8, and
    then nothing is added. Symbols to bind: ``M``, ``N``, ``K`` and ``B``, which may be
    dynamic. Tiles, counts of waves and ``ADDRESS_SPACE`` are open. With ``parts`` the
    dimension ``K`` of a and b is ``PARTS, K``, each part ``K`` long: waves of a
    workgroup sum one each, and add up what they have in LDS. Accuracy: of
    max(abs(a) abs(b)) 1e-3, and half a unit in the last place of ``result``; i32 is
    exact, modulo 2**32. Sums are finished in f32 and rounded once.

    Raises:
        UserError: WV0823 for another layout; from compilation WV0702 where the target
            has no instruction for ``dtype``, WV0204 for a float result of integers.
    """
    sums = sums_of(dtype)
    lead = (B,) if batched else ()
    operands = operand_dims(layout, parts=parts)
    a_dims, b_dims = ((*lead, *dims) for dims in operands)
    c_dims = (*lead, M, N)
    sum_dims = (*lead, PARTS, M, N) if parts else c_dims
    constraints = _constraints(dtype, mma_type, batched=batched, parts=parts)

    lhs = tkl.Memory[*a_dims, ADDRESS_SPACE, dtype]
    rhs = tkl.Memory[*b_dims, ADDRESS_SPACE, dtype]
    columns = tkl.Memory[N, tkl.GLOBAL_ADDRESS_SPACE, dtype]
    whole = tkl.Memory[*c_dims, tkl.GLOBAL_ADDRESS_SPACE, dtype]
    stored = sums if result is None else result
    out = tkl.Memory[*c_dims, tkl.GLOBAL_ADDRESS_SPACE, stored]

    def product(a: Any, b: Any) -> Any:
        @tkw.iterate(K, init_args=[tkl.Register[*sum_dims, sums](0)])
        def repeat(acc: tkl.Register[*sum_dims, sums]) -> tkl.Register[*sum_dims, sums]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        return tkw.sum(repeat, dim=PARTS, block=True) if parts else repeat

    def wide(added: Any) -> Any:
        each = tkw.cast(tkw.read(added), sums)
        return tkw.broadcast(each, target_shape=[*c_dims])

    @tkw.wave(constraints)
    def gemm(a: lhs, b: rhs, c: out) -> None:
        tkw.write(epilogue.activated(product(a, b)), c)

    @tkw.wave(constraints)
    def gemm_bias(a: lhs, b: rhs, bias: columns, c: out) -> None:
        tkw.write(epilogue.activated(product(a, b) + wide(bias)), c)

    @tkw.wave(constraints)
    def gemm_residual(a: lhs, b: rhs, residual: whole, c: out) -> None:
        tkw.write(epilogue.activated(product(a, b)) + wide(residual), c)

    @tkw.wave(constraints)
    def gemm_bias_residual(
        a: lhs, b: rhs, bias: columns, residual: whole, c: out
    ) -> None:
        tkw.write(epilogue.activated(product(a, b) + wide(bias)) + wide(residual), c)

    if epilogue.residual:
        return gemm_bias_residual if epilogue.bias else gemm_residual
    return gemm_bias if epilogue.bias else gemm
