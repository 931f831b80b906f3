"""The gradients of attention over heads: scores once more, tile after tile.

With ``p`` what the softmax gave, and ``grad`` the gradient of the result, that of the
scores is ``p * (grad value^T - delta)``, where ``delta`` is, for each query, the
product of its result and the result's gradient. Powers need no second maximum: the
logarithm of a row's sum is known. Each workgroup owns rows of what it writes, so that
sums have one order, and each launch gives the same bits.
"""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportAssignmentType=false
# pyright: reportOperatorIssue=false

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.attention import (
    Heads,
    MMATypes,
    slopes_of,
)
from wave_kernels.definitions.attention_scores import (
    LOG2_E,
    LOWEST,
    PLAIN,
    Scoring,
)
from wave_kernels.definitions.attention_tiles import (
    BLOCK_B,
    BLOCK_H,
    BLOCK_K2,
    BLOCK_M,
    DK,
    DN,
    K1,
    K2,
    MMA_ROWS,
    WAVES_M,
    B,
    H,
    M,
    N,
    mapping,
)
from wave_kernels.definitions.operands import declared

if TYPE_CHECKING:
    from wave_core.types import DType

LEAD, SCORED = (B, H), (B, H, M, K2)

_WIDE = ((64, 32, 4, 16), (64, 64, 4, 16), (128, 32, 4, 32), (64, 32, 2, 32))
_NARROW = ((64, 16, 4, 16), (64, 32, 4, 16), (64, 64, 4, 16), (128, 32, 8, 16))
"""Rows of a workgroup, rows of a step, waves, rows of a product."""


@dataclass(frozen=True)
class _Tile:
    """Products of a tile, and what they say of the gradient of its scores."""

    heads: Heads
    scoring: Scoring
    scale: float
    given: dict[str, Any]

    def read(self, name: str, *dims: Any) -> Any:
        """An operand of the tile, with these dims behind batch and head."""
        to = getattr(self.heads, "output" if name == "grad" else name)
        taken = mapping(*LEAD, *dims, to=to, group=self.heads.group)
        return tkw.read(self.given[name], mapping=taken)

    def slopes(self, products: Any, grads: Any, lse: Any, delta: Any) -> Any:
        """Powers, and the gradient of the products, both ``[B, H, M, K2]``, f32.

        ``products`` of queries and keys, ``grads`` of values and the result's
        gradient; ``lse`` in base 2, and ``delta``, are ``[B, H, M]``.
        """
        scoring = self.scoring
        alibi = slopes_of(self.given["slopes"]) if scoring.alibi else None
        scaled = products * tkl.Register[*SCORED, tkl.f32](self.scale)
        scores = scoring.hidden(scoring.finished(scaled, SCORED, alibi, self._bias))
        powers = tkw.exp2(scores - tkw.broadcast(lse, target_shape=[*SCORED]))
        inner = powers * (grads - tkw.broadcast(delta, target_shape=[*SCORED]))
        return powers, inner * scoring.steepness(scaled, SCORED)

    def _bias(self) -> Any:
        return tkw.read(self.given["bias"])


def _log_sums(memory: Any) -> Any:
    """Those of a tile's rows, for base 2; finite where a row has seen no key."""
    least = tkl.Register[B, H, M, tkl.f32](LOWEST)
    found = tkw.read(memory) * tkl.Register[B, H, M, tkl.f32](LOG2_E)
    return tkw.maximum(found, least)


def query_gradient_kernel(
    scale: float,
    mma_types: MMATypes = (None, None),
    *,
    heads: Heads,
    scoring: Scoring = PLAIN,
) -> Any:
    """The gradient of queries, by tiles of queries, and ``delta``.

    ``scale``, ``heads`` and ``scoring`` are those of `head_attention_kernel`, which
    gave ``output`` and ``lse``.

    Shapes: as there; ``grad`` as ``output``, ``delta: [B, H, M]``, ``dquery`` as
    ``query``. Dtypes: as ``heads`` says, ``lse`` and ``delta`` f32. Accuracy: as
    `key_gradient_kernel`.
    """
    operands = _operands(heads, scoring)
    whole = tkl.GLOBAL_ADDRESS_SPACE
    operands["output"] = tkl.Memory[*heads.output, whole, heads.result]
    operands["delta"] = tkl.Memory[B, H, M, whole, tkl.f32]
    operands["dquery"] = tkl.Memory[*heads.query, whole, heads.dtype]
    out = mapping(*LEAD, DK, M, to=heads.query, written=True)

    @tkw.wave(_spread(M, BLOCK_M, (K2, BLOCK_K2), mma_types, **scoring.seen()))
    @declared(operands)
    def query_gradient(*memories: Any) -> None:
        given = dict(zip(operands, memories, strict=True))
        tile = _Tile(heads, scoring, scale, given)
        lse = _log_sums(given["lse"])
        rows = [tkw.cast(tile.read(n, M, N), tkl.f32) for n in ("output", "grad")]
        delta = tkw.sum(rows[0] * rows[1], dim=N)
        tkw.write(delta, given["delta"])
        zero = tkl.Register[B, H, DK, M, tkl.f32](0.0)

        @tkw.iterate(K2, init_args=[zero])
        def total(acc: tkl.Register[B, H, DK, M, tkl.f32]) -> Any:
            products = _by_rows(tile, ("key", "query"), K1, (K2, M), mma_types[0])
            grads = _by_rows(tile, ("value", "grad"), N, (K2, M), mma_types[0])
            _, inner = tile.slopes(products, grads, lse, delta)
            keys = tile.read("key", DK, K2)
            return tkw.mma(keys, tkw.cast(inner, heads.dtype), acc, mma_types[1])

        found = total * tkl.Register[B, H, DK, M, tkl.f32](scale * log(2))
        tkw.write(tkw.cast(found, heads.dtype), given["dquery"], mapping=out)

    return query_gradient


def _by_rows(
    tile: _Tile,
    names: tuple[str, str],
    channel: Any,
    rows: tuple[Any, Any],
    mma_type: Any,
) -> Any:
    """Products of the rows of two operands, ``[B, H, M, K2]``."""
    zero = tkl.Register[*LEAD, *rows, tkl.f32](0.0)
    left, right = (
        tile.read(name, row, channel) for name, row in zip(names, rows, strict=True)
    )
    return tkw.permute(tkw.mma(left, right, zero, mma_type), target_shape=[*SCORED])


def key_gradient_kernel(
    scale: float,
    mma_types: MMATypes = (None, None),
    *,
    heads: Heads,
    scoring: Scoring = PLAIN,
) -> Any:
    """The gradients of keys and values, by tiles of keys.

    Where heads share keys, each head of queries has gradients of its own, in f32, for
    somebody to add up.

    Shapes: as `query_gradient_kernel`, whose ``delta`` it reads; ``dkey`` and
    ``dvalue`` as ``key`` and ``value`` with `H` heads. Dtypes: as there. Accuracy: 2e-3
    of the largest element in f16, 2e-2 in bf16, for values of the size of 1.
    """
    operands = _operands(heads, scoring)
    whole = tkl.GLOBAL_ADDRESS_SPACE
    dkeys, dvalues, result = gradient_memories(heads)
    operands["delta"] = tkl.Memory[B, H, M, whole, tkl.f32]
    operands["dkey"] = tkl.Memory[*dkeys, whole, result]
    operands["dvalue"] = tkl.Memory[*dvalues, whole, result]
    k_out = mapping(*LEAD, DK, K2, to=dkeys, written=True)
    v_out = mapping(*LEAD, DN, K2, to=dvalues, written=True)

    @tkw.wave(_spread(K2, BLOCK_K2, (M, BLOCK_M), mma_types, **scoring.seeing()))
    @declared(operands)
    def key_gradient(*memories: Any) -> None:
        given = dict(zip(operands, memories, strict=True))
        tile = _Tile(heads, scoring, scale, given)
        zeros = [tkl.Register[B, H, d, K2, tkl.f32](0.0) for d in (DK, DN)]

        @tkw.iterate(M, init_args=zeros)
        def totals(
            of_keys: tkl.Register[B, H, DK, K2, tkl.f32],
            of_values: tkl.Register[B, H, DN, K2, tkl.f32],
        ) -> Any:
            products = _by_rows(tile, ("query", "key"), K1, (M, K2), mma_types[0])
            grads = _by_rows(tile, ("grad", "value"), N, (M, K2), mma_types[0])
            lse = _log_sums(given["lse"])
            found = tile.slopes(products, grads, lse, tkw.read(given["delta"]))
            powers, inner = (
                tkw.cast(tkw.permute(x, target_shape=[B, H, K2, M]), heads.dtype)
                for x in found
            )
            grads, queries = tile.read("grad", DN, M), tile.read("query", DK, M)
            of_values = tkw.mma(grads, powers, of_values, mma_types[1])
            of_keys = tkw.mma(queries, inner, of_keys, mma_types[1])
            return of_keys, of_values

        of_keys, of_values = totals
        factor = tkl.Register[B, H, DK, K2, tkl.f32](scale * log(2))
        of_keys = tkw.cast(of_keys * factor, result)
        tkw.write(of_keys, given["dkey"], mapping=k_out)
        tkw.write(tkw.cast(of_values, result), given["dvalue"], mapping=v_out)

    return key_gradient


def gradient_memories(heads: Heads) -> tuple[tuple[Any, ...], tuple[Any, ...], DType]:
    """The dims of gradients of keys and of values, and their type."""
    keys, values = (heads.dims(B, H, K2, c) for c in (K1, N))
    return keys, values, heads.dtype if heads.group == 1 else tkl.f32


def _operands(heads: Heads, scoring: Scoring) -> dict[str, Any]:
    """What both kernels read."""
    whole, dtype = tkl.GLOBAL_ADDRESS_SPACE, heads.dtype
    found = {
        "query": tkl.Memory[*heads.query, whole, dtype],
        "key": tkl.Memory[*heads.key, whole, dtype],
        "value": tkl.Memory[*heads.value, whole, dtype],
    }
    if scoring.bias:
        found["bias"] = tkl.Memory[*scoring.bias, whole, dtype]
    if scoring.alibi:
        found["slopes"] = tkl.Memory[H, whole, tkl.f32]
    found["grad"] = tkl.Memory[*heads.output, whole, heads.result]
    found["lse"] = tkl.Memory[B, H, M, whole, tkl.f32]
    return found


def _spread(
    owned: Any, block: Any, along: Any, mma_types: MMATypes, **seen: Any
) -> list[Any]:
    """Tiles of ``owned`` rows, which waves share, and a loop ``along`` the others."""
    symbols = (block, along[1], WAVES_M, MMA_ROWS)
    return [
        tkw.WorkgroupConstraint(owned, block, 0),
        tkw.WorkgroupConstraint(B, BLOCK_B, 1),
        tkw.WorkgroupConstraint(H, BLOCK_H, 2),
        tkw.TilingConstraint(*along, **seen),
        tkw.WaveConstraint(owned, block / WAVES_M),
        tkw.HardwareConstraint(
            mma_type=mma_types[1],
            mma_rows=MMA_ROWS,
            vector_shapes={B: 0, H: 0},
        ),
        tkw.Tunable(symbols, _WIDE, narrow=_NARROW),
        tkw.FastMath(),
    ]
