"""Matrix products with weights of 4 or 8 bits, widened where they are used."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import user_error
from wave_kernels.definitions.operands import declared
from wave_kernels.definitions.products import (
    BLOCK_K,
    K,
    M,
    N,
    product_constraints,
    tiles,
)
from wave_kernels.definitions.staging import ADDRESS_SPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.types import DType

GROUPS = tkl.sym.GROUPS
"""Scales of a row of weights."""

STEP = tkl.sym.STEP
"""The number of a tile along ``K``."""

LEAST_GROUP, MOST_DEPTH = 32, 64
"""Elements along ``K`` of the smallest tile, and of the largest within a group."""

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


@dataclass(frozen=True)
class Weights:
    """What bytes of weights mean: ``(number - zero) * scale``.

    Attributes:
        bits: Of a weight: 4, of which a byte has two, the first in its lower half; or
            8.
        group: How many weights along ``K`` share scale and zero, a multiple of 32; 0
            where all of a row do.
        signed: Whether numbers are from minus half of their range on, or from 0.
        zeros: Whether each group has a zero; else it is 0, or half of the range for
            numbers without a sign.
    """

    bits: int = 4
    group: int = 128
    signed: bool = True
    zeros: bool = False

    def __post_init__(self) -> None:
        """Refuse what no kernel reads.

        Raises:
            UserError: WV0823.
        """
        if self.bits not in (4, 8):
            raise user_error(
                "WV0823",
                f"a matrix product has no weights of {self.bits} bits",
                help="weights have 4 or 8",
            )
        if self.group % LEAST_GROUP or self.group < 0:
            raise user_error(
                "WV0823",
                f"{self.group} weights share no scale",
                help=f"a multiple of {LEAST_GROUP} does, or 0 for all of a row",
            )

    @property
    def half(self) -> int:
        """Half of the range."""
        return 1 << (self.bits - 1)

    @property
    def depth(self) -> int:
        """Of tiles along ``K`` that lie within a group; 0 where there is one."""
        return gcd(self.group, MOST_DEPTH) if self.group else 0

    @property
    def row(self) -> Any:
        """Bytes of a row."""
        return K * self.bits / 8

    def number(self, data: Any) -> Any:
        """Numbers of bytes, counted from the middle of the range."""
        if not self.signed:
            turn = self.half if self.bits == 8 else self.half * 17
            data = data ^ tkl.Register[*data.type.shape, tkl.i8](turn - 256)
        return data if self.bits == 8 else tkw.bitcast(data, tkl.i4)

    def zero(self, data: Any) -> Any:
        """Zeros, counted alike, in f32; each has a byte."""
        wide = tkw.cast(data, tkl.f32)
        if self.signed:
            return wide
        lifted = tkw.select(wide < 0.0, wide + 256.0, wide)
        return lifted - float(self.half)


def gemm_nbits_kernel(
    weights: Weights,
    dtype: DType = tkl.f16,
    mma_type: tkl.MMAType | None = None,
    *,
    result: DType = tkl.f32,
    scale: DType = tkl.f32,
) -> Any:
    """``c[m, n] = sum_k a[m, k] * (b[n, k] - zero[n, k]) * scale[n, k]``.

    Numbers less zeros are integers that ``dtype`` has exactly; sums of a group are
    scaled in f32, so that no weight is ever rounded.

    Shapes: ``a: [M, K]``, ``b: [N, K * bits / 8]``, ``scales, zeros: [N, GROUPS]``,
    zeros where there are any, ``c: [M, N]``. Dtypes: ``a`` ``dtype``: f16, bf16 or f32;
    b and zeros i8, that is bytes; scales ``scale``; c ``result``. Symbols to bind:
    ``N``, ``K``, even where two weights share a byte, and ``GROUPS``, so many that all
    of ``K`` has one; ``M``, which may be dynamic. Tiles, counts of waves and
    ``ADDRESS_SPACE`` are open, but for ``BLOCK_K`` where there are several groups of a
    row. Accuracy: of max(abs(a) abs(weights)) 1e-3, and half a unit in the last
    place of ``result``.
    """
    operands = _operands(weights, dtype, scale, result)

    tried = tiles(dtype, flat=True, depth=weights.depth)

    @tkw.wave(product_constraints(dtype, mma_type, tried=tried, induction_var=STEP))
    @declared(operands)
    def gemm(*memories: Any) -> None:
        given = dict(zip(operands, memories, strict=True))
        total = (_by_groups if weights.group else _by_rows)(weights, given, dtype)
        tkw.write(tkw.cast(total, result), given["c"])

    return gemm


def _by_rows(weights: Weights, given: Mapping[str, Any], dtype: DType) -> Any:
    """The sums of all products, scaled at the end."""

    @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
    def repeat(acc: Any) -> Any:
        return tkw.mma(tkw.read(given["a"]), _widened(weights, given, dtype), acc)

    return repeat * _scale(given["scales"], 0)


def _by_groups(weights: Weights, given: Mapping[str, Any], dtype: DType) -> Any:
    """The sums of tiles, each scaled as its group is."""
    zero = tkl.Register[M, N, tkl.f32](0.0)

    @tkw.iterate(K, init_args=[zero])
    def repeat(acc: Any) -> Any:
        part = tkw.mma(tkw.read(given["a"]), _widened(weights, given, dtype), zero)
        return acc + part * _scale(given["scales"], _place(weights))

    return repeat


def _widened(weights: Weights, given: Mapping[str, Any], dtype: DType) -> Any:
    """Numbers less zeros."""
    found = weights.number(tkw.read(given["b"]))
    if weights.zeros:
        zero = weights.zero(_of_group(given["zeros"], _place(weights)))
        found = tkw.cast(found, tkl.f32) - tkw.broadcast(zero, target_shape=[N, K])
    return tkw.cast(found, dtype)


def _place(weights: Weights) -> Any:
    """The group of the tile where the loop stands."""
    return STEP * BLOCK_K // weights.group if weights.group else 0


def _of_group(memory: Any, place: Any) -> Any:
    """What a row has for one group."""
    row = tkw.IndexMapping.iterator(0)
    found = tkw.IndexMapping(1, inputs={N: row, GROUPS: place}, outputs={N: row})
    return tkw.read(memory, mapping=found)


def _scale(scales: Any, place: Any) -> Any:
    wide = tkw.cast(_of_group(scales, place), tkl.f32)
    return tkw.broadcast(wide, target_shape=[M, N])


def _operands(
    weights: Weights, dtype: DType, scale: DType, result: DType
) -> dict[str, Any]:
    """The memories of `gemm_nbits_kernel`, in order."""
    zeros = {"zeros": tkl.Memory[N, GROUPS, _GLOBAL, tkl.i8]} if weights.zeros else {}
    return {
        "a": tkl.Memory[M, K, ADDRESS_SPACE, dtype],
        "b": tkl.Memory[N, weights.row, ADDRESS_SPACE, tkl.i8],
        "scales": tkl.Memory[N, GROUPS, _GLOBAL, scale],
        **zeros,
        "c": tkl.Memory[M, N, _GLOBAL, result],
    }
