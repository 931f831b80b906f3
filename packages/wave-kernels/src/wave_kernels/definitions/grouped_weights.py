"""Products of columns within groups of rows: the gradients of experts' weights."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.groups import STARTS, E, enter_part
from wave_kernels.definitions.operands import declared
from wave_kernels.definitions.products import (
    BLOCK_K,
    K,
    M,
    N,
    product_constraints,
    sums_of,
)
from wave_kernels.definitions.staging import ADDRESS_SPACE

if TYPE_CHECKING:
    from wave_core.types import DType

TOKENS = tkl.sym.TOKENS
"""Rows of ``a``, where a table says which of them a group has."""

FIRST, COUNT = tkl.sym.FIRST, tkl.sym.COUNT
"""The first row of a workgroup's group, and how many it has."""

END = FIRST + COUNT
"""Where the group of a workgroup ends."""

DEPTH = sympy.ceiling(COUNT / BLOCK_K)
"""Tiles of rows: none in an empty group, whose sums are zero."""


def grouped_weights_kernel(
    dtype: DType = tkl.f16,
    mma_type: tkl.MMAType | None = None,
    *,
    result: DType | None = None,
    gathered: bool = False,
) -> Any:
    """``c[g, m, n] = sum_k a[k, m] * b[k, n]`` over the rows k of group g.

    Group g has the rows from ``starts[g]`` up to ``starts[g + 1]``. Where ``gathered``,
    row k of ``a`` is the one that ``rows[k]`` names. A workgroup is of one group, and
    walks over its rows: nothing is added by several.

    Shapes: ``a: [K, M]`` or ``[TOKENS, M]``, ``b: [K, N]``, ``starts: [ENDS]``,
    ``rows: [K]``, ``c: [E, M, N]``. Dtypes: as `gemm_kernel`; starts and rows i32.
    Symbols to bind: ``M``, ``N``, ``E`` and ``ENDS``, which is one more; ``K`` and
    ``TOKENS``, which may be dynamic. What is open, accuracy: as `gemm_kernel`.

    Raises:
        UserError: as `gemm_kernel`.
    """
    sums = sums_of(dtype)
    operands = _operands(dtype, result or sums, gathered=gathered)
    spread = product_constraints(dtype, mma_type, iters=DEPTH)

    @tkw.wave([*spread, tkw.WorkgroupConstraint(E, 1, 2)])
    @declared(operands)
    def gemm(*memories: Any) -> None:
        given = dict(zip(operands, memories, strict=True))
        enter_part(given["starts"], E, FIRST, COUNT)

        @tkw.iterate(K, init_args=[tkl.Register[E, M, N, sums](0)])
        def repeat(acc: Any) -> Any:
            picked = _picked(given["rows"]) if gathered else None
            return tkw.mma(
                _columns(given["a"], M, picked), _columns(given["b"], N), acc
            )

        tkw.write(repeat, given["c"])

    return gemm


_G, _I, _J = (tkw.IndexMapping.iterator(i) for i in range(3))


def _columns(memory: Any, dim: Any, picked: Any = None) -> Any:
    """Columns of a group's rows, and zeros behind its last row."""
    register = {E: _G, dim: _I, K: _J}
    if picked is None:
        found = tkw.IndexMapping(3, {K: _J + FIRST, dim: _I}, register)
        return tkw.read(memory, mapping=found, bounds={K: END})
    taken = {TOKENS: tkw.IndexMapping.dynamic_val(0), dim: _I}
    found = tkw.IndexMapping(3, taken, register, dynamic_val_mappings={K: _J})
    return tkw.read(
        memory, mapping=found, mapping_dynamic_vals=(picked,), bounds={K: COUNT}
    )


def _picked(rows: Any) -> Any:
    """Which rows of ``a`` a tile has."""
    found = tkw.IndexMapping(1, inputs={K: _G + FIRST}, outputs={K: _G})
    return tkw.read(rows, mapping=found, bounds={K: END})


def _operands(dtype: DType, stored: DType, *, gathered: bool) -> dict[str, Any]:
    """The memories of `grouped_weights_kernel`, in order."""
    whole = tkl.GLOBAL_ADDRESS_SPACE
    rows = {"rows": tkl.Memory[K, whole, tkl.i32]} if gathered else {}
    return {
        "a": tkl.Memory[TOKENS if gathered else K, M, ADDRESS_SPACE, dtype],
        "b": tkl.Memory[K, N, ADDRESS_SPACE, dtype],
        "starts": STARTS,
        **rows,
        "c": tkl.Memory[E, M, N, whole, stored],
    }
