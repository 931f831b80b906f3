"""Matrix products of groups of rows, each group with weights of its own: experts."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportGeneralTypeIssues=false

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.gated_gemm import check_floats, gated_sums
from wave_kernels.definitions.groups import (
    DEPTH,
    END,
    GROUP,
    ROWS,
    STARTS,
    E,
    enter_group,
)
from wave_kernels.definitions.operands import declared
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

TOKENS = tkl.sym.TOKENS
"""Rows of ``a``, where a table says which of them a group has."""


def grouped_gemm_kernel(
    dtype: DType = tkl.f16,
    mma_type: tkl.MMAType | None = None,
    *,
    groups: int,
    layout: str = "NT",
    result: DType | None = None,
    gathered: bool = False,
    gated: bool = False,
) -> Any:
    """``c[m, n] = sum_k a[m, k] * b[g, k, n]``, where g is the group of row m.

    There are ``groups``, which is the value of ``E``. Group g has the rows from
    ``starts[g]`` up to ``starts[g + 1]``; the first starts at 0, and rows behind the
    last group are not written. Where ``gathered``, row m of ``a`` is the one that
    ``rows[m]`` names. Where ``gated``, b has twice the columns, and
    ``c = silu(a gate) * (a up)``, of the first and the second half of them.

    Shapes: ``a: [M, K]`` or ``[TOKENS, K]``, ``b: [E, K, N]`` or, by the second letter
    of ``layout``, ``[E, N, K]``, ``starts: [ENDS]``, ``rows: [M]``, ``c: [M, N]``.
    Dtypes: as `gemm_kernel`; starts and rows i32. Symbols to bind: ``N``, ``K``, ``E``
    and ``ENDS``, which is one more; ``M`` and ``TOKENS``, which may be dynamic. What is
    open, accuracy: as `gemm_kernel`; of gated sums
    1e-3 of the largest result, and half a unit in its last place.

    Raises:
        UserError: as `gemm_kernel`, and WV0823 for gates that are integers.
    """
    sums = sums_of(dtype)
    if gated:
        check_floats(dtype)
    weights = _Weights(operand_dims(layout)[1], gated=gated)
    stored = sums if result is None else result
    operands = _operands(dtype, stored, weights, gathered=gathered)

    tried = tiles(dtype, flat=True)
    spread = product_constraints(dtype, mma_type, rows=ROWS, tried=tried, iters=DEPTH)

    @tkw.wave(spread)
    @declared(operands)
    def gemm(*memories: Any) -> None:
        given = dict(zip(operands, memories, strict=True))
        enter_group(given["starts"], groups)
        picked = tkw.read(given["rows"]) if gathered else None
        rows = partial(_rows, given["a"], picked)
        columns = [partial(weights.read, given["b"], part) for part in weights.parts]
        found = gated_sums(rows, *columns) if gated else _sums(rows, *columns, sums)
        tkw.write(found, given["c"], mapping=_OWN, bounds={M: END})

    return gemm


def _sums(rows: Callable[[], Any], weights: Callable[[], Any], dtype: DType) -> Any:
    """Those of one product."""

    @tkw.iterate(K, init_args=[tkl.Register[M, N, dtype](0)])
    def repeat(acc: Any) -> Any:
        return tkw.mma(rows(), weights(), acc)

    return repeat


_I, _J = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
_OWN = tkw.IndexMapping(2, inputs={M: _I, N: _J}, outputs={M: _I, N: _J})
_PICKED = tkw.IndexMapping(
    2,
    inputs={TOKENS: tkw.IndexMapping.dynamic_val(0), K: _J},
    outputs={M: _I, K: _J},
    dynamic_val_mappings={M: _I},
)


def _rows(a: Any, picked: Any) -> Any:
    """The rows of a tile; those behind its group belong to others."""
    if picked is None:
        return tkw.read(a)
    return tkw.read(a, mapping=_PICKED, mapping_dynamic_vals=(picked,))


@dataclass(frozen=True)
class _Weights:
    """How those of a group lie in memory."""

    dims: tuple[Any, Any]
    gated: bool

    @property
    def parts(self) -> tuple[int, ...]:
        """Which columns are multiplied: all, or both halves."""
        return (0, 1) if self.gated else (0,)

    @property
    def memory(self) -> tuple[Any, ...]:
        """Dims in memory."""
        return (E, *(self._columns if dim == N else dim for dim in self.dims))

    @property
    def _columns(self) -> Any:
        return len(self.parts) * N

    def read(self, b: Any, part: int) -> Any:
        """Those of a workgroup's group: columns of one part."""
        register = dict(zip(self.dims, (_I, _J), strict=True))
        column = register[N] + part * N
        taken = {E: GROUP, K: register[K], self._columns: column}
        found = tkw.IndexMapping(2, inputs=taken, outputs=register)
        return tkw.read(b, mapping=found)


def _operands(
    dtype: DType, stored: DType, weights: _Weights, *, gathered: bool
) -> dict[str, Any]:
    """The memories of `grouped_gemm_kernel`, in order."""
    whole = tkl.GLOBAL_ADDRESS_SPACE
    rows = {"rows": tkl.Memory[M, whole, tkl.i32]} if gathered else {}
    return {
        "a": tkl.Memory[TOKENS if gathered else M, K, ADDRESS_SPACE, dtype],
        "b": tkl.Memory[*weights.memory, ADDRESS_SPACE, dtype],
        "starts": STARTS,
        **rows,
        "c": tkl.Memory[M, N, whole, stored],
    }
