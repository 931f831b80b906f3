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

from dataclasses import dataclass, replace
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
from wave_kernels.definitions.groups import starts_of
from wave_kernels.definitions.operands import declared
from wave_kernels.definitions.ragged_attention import (
    KEYS,
    PARTS,
    QUERIES,
    enter_sequence,
    of_all,
    of_sequence,
)

if TYPE_CHECKING:
    from wave_core.types import DType

LEAD, SCORED = (B, H), (B, H, M, K2)

_WIDE = ((64, 32, 4, 16), (64, 64, 4, 16), (128, 32, 4, 32), (64, 32, 2, 32))
_NARROW = ((64, 16, 4, 16), (64, 32, 4, 16), (64, 64, 4, 16), (128, 32, 8, 16))
"""Rows of a workgroup, rows of a step, waves, rows of a product."""


@dataclass(frozen=True)
class _Places:
    """Where operands and gradients lie.

    Attributes:
        heads: By batch, head, row and channel.
        ragged: Whether sequences lie one behind the other, as `ragged_attention` has
            them.
    """

    heads: Heads
    ragged: bool

    def dims(self, name: str) -> tuple[Any, ...]:
        """Those of a memory, slowest first."""
        heads = self.heads
        keys, values, _ = gradient_memories(heads)
        dense = {"query": heads.query, "key": heads.key, "value": heads.value}
        dense |= {"output": heads.output, "grad": heads.output}
        dense |= {"lse": (B, H, M), "delta": (B, H, M)}
        dense |= {"dquery": heads.query, "dkey": keys, "dvalue": values}
        return of_all(dense[name]) if self.ragged else dense[name]

    def memory(self, name: str, dtype: DType) -> Any:
        """One with these dims."""
        return tkl.Memory[*self.dims(name), tkl.GLOBAL_ADDRESS_SPACE, dtype]

    def read(self, memory: Any, name: str, *dims: Any) -> Any:
        """A register with these dims behind batch and head."""
        found = self._mapping(name, dims, written=False)
        return tkw.read(memory, mapping=found, bounds=self._bounds(dims))

    def write(self, found: Any, memory: Any, name: str, *dims: Any) -> None:
        """Put a register with these dims where it belongs."""
        place = self._mapping(name, dims, written=True)
        tkw.write(found, memory, mapping=place, bounds=self._bounds(dims))

    def _mapping(
        self, name: str, dims: tuple[Any, ...], *, written: bool
    ) -> tkw.IndexMapping:
        return mapping(
            *(*LEAD, *dims),
            to=self.dims(name),
            written=written,
            group=self.heads.group,
            parts=PARTS if self.ragged else {},
        )

    def _bounds(self, dims: tuple[Any, ...]) -> dict[Any, Any] | None:
        """How many rows a sequence has, where nobody knows before."""
        ends = {M: QUERIES, K2: KEYS}
        return {d: ends[d] for d in dims if d in ends} if self.ragged else None


@dataclass(frozen=True)
class _Tile:
    """Products of a tile, and what they say of the gradient of its scores."""

    places: _Places
    scoring: Scoring
    scale: float
    given: dict[str, Any]

    def read(self, name: str, *dims: Any) -> Any:
        """An operand of the tile, with these dims behind batch and head."""
        return self.places.read(self.given[name], name, *dims)

    def write(self, found: Any, name: str, *dims: Any) -> None:
        """A gradient of the tile, with these dims behind batch and head."""
        self.places.write(found, self.given[name], name, *dims)

    def log_sums(self) -> Any:
        """Those of the rows, for base 2; finite where a row has seen no key."""
        least = tkl.Register[B, H, M, tkl.f32](LOWEST)
        found = self.read("lse", M) * tkl.Register[B, H, M, tkl.f32](LOG2_E)
        return tkw.maximum(found, least)

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


def query_gradient_kernel(
    scale: float,
    mma_types: MMATypes = (None, None),
    *,
    heads: Heads,
    scoring: Scoring = PLAIN,
    ragged: bool = False,
) -> Any:
    """The gradient of queries, by tiles of queries, and ``delta``.

    ``scale``, ``heads`` and ``scoring`` are those of `head_attention_kernel`, which
    gave ``output`` and ``lse``; where ``ragged``, of `ragged_attention_kernel`.

    Shapes: as there; ``grad`` as ``output``, ``delta`` as ``lse``, ``dquery`` as
    ``query``. Dtypes: as ``heads`` says, ``lse`` and ``delta`` f32. Accuracy: as
    `key_gradient_kernel`.
    """
    places, own = _Places(heads, ragged), of_sequence(scoring) if ragged else scoring
    operands = _operands(places, own)
    operands["output"] = places.memory("output", heads.result)
    operands["delta"] = places.memory("delta", tkl.f32)
    operands["dquery"] = places.memory("dquery", heads.dtype)

    @tkw.wave(_spread(M, BLOCK_M, (K2, BLOCK_K2), mma_types, **own.seen()))
    @declared(operands)
    def query_gradient(*memories: Any) -> None:
        given = dict(zip(operands, memories, strict=True))
        if ragged:
            enter_sequence(given)
        tile = _Tile(places, own, scale, given)
        lse = tile.log_sums()
        rows = [tkw.cast(tile.read(n, M, N), tkl.f32) for n in ("output", "grad")]
        delta = tkw.sum(rows[0] * rows[1], dim=N)
        tile.write(delta, "delta", M)
        zero = tkl.Register[B, H, DK, M, tkl.f32](0.0)

        @tkw.iterate(K2, init_args=[zero])
        def total(acc: tkl.Register[B, H, DK, M, tkl.f32]) -> Any:
            products = _by_rows(tile, ("key", "query"), K1, (K2, M), mma_types[0])
            grads = _by_rows(tile, ("value", "grad"), N, (K2, M), mma_types[0])
            _, inner = tile.slopes(products, grads, lse, delta)
            keys = tile.read("key", DK, K2)
            return tkw.mma(keys, tkw.cast(inner, heads.dtype), acc, mma_types[1])

        found = total * tkl.Register[B, H, DK, M, tkl.f32](scale * log(2))
        tile.write(tkw.cast(found, heads.dtype), "dquery", DK, M)

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
    ragged: bool = False,
) -> Any:
    """The gradients of keys and values, by tiles of keys.

    Where heads share keys, each head of queries has gradients of its own, in f32, for
    somebody to add up. Where ``ragged``, keys of no sequence have none written.

    Shapes: as `query_gradient_kernel`, whose ``delta`` it reads; ``dkey`` and
    ``dvalue`` as ``key`` and ``value`` with `H` heads. Dtypes: as there. Accuracy: 2e-3
    of the largest element in f16, 2e-2 in bf16, for values of the size of 1.
    """
    places, own = _Places(heads, ragged), scoring
    if ragged:
        own = replace(of_sequence(scoring), queries=QUERIES)
    operands = _operands(places, own)
    result = gradient_memories(heads)[2]
    operands["delta"] = places.memory("delta", tkl.f32)
    operands["dkey"] = places.memory("dkey", result)
    operands["dvalue"] = places.memory("dvalue", result)

    @tkw.wave(_spread(K2, BLOCK_K2, (M, BLOCK_M), mma_types, **own.seeing()))
    @declared(operands)
    def key_gradient(*memories: Any) -> None:
        given = dict(zip(operands, memories, strict=True))
        if ragged:
            enter_sequence(given)
        tile = _Tile(places, own, scale, given)
        zeros = [tkl.Register[B, H, d, K2, tkl.f32](0.0) for d in (DK, DN)]

        @tkw.iterate(M, init_args=zeros)
        def totals(
            of_keys: tkl.Register[B, H, DK, K2, tkl.f32],
            of_values: tkl.Register[B, H, DN, K2, tkl.f32],
        ) -> Any:
            products = _by_rows(tile, ("query", "key"), K1, (M, K2), mma_types[0])
            grads = _by_rows(tile, ("grad", "value"), N, (M, K2), mma_types[0])
            lse = tile.log_sums()
            found = tile.slopes(products, grads, lse, tile.read("delta", M))
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
        tile.write(of_keys, "dkey", DK, K2)
        tile.write(tkw.cast(of_values, result), "dvalue", DN, K2)

    return key_gradient


def gradient_memories(heads: Heads) -> tuple[tuple[Any, ...], tuple[Any, ...], DType]:
    """The dims of gradients of keys and of values, and their type."""
    keys, values = (heads.dims(B, H, K2, c) for c in (K1, N))
    return keys, values, heads.dtype if heads.group == 1 else tkl.f32


def _operands(places: _Places, scoring: Scoring) -> dict[str, Any]:
    """What both kernels read."""
    heads, whole = places.heads, tkl.GLOBAL_ADDRESS_SPACE
    found = {n: places.memory(n, heads.dtype) for n in ("query", "key", "value")}
    if places.ragged:
        found |= {name: starts_of(B) for name in ("query_starts", "key_starts")}
    if scoring.bias:
        found["bias"] = tkl.Memory[*scoring.bias, whole, heads.dtype]
    if scoring.alibi:
        found["slopes"] = tkl.Memory[H, whole, tkl.f32]
    found["grad"] = places.memory("grad", heads.result)
    found["lse"] = places.memory("lse", tkl.f32)
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
