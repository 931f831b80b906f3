"""Attention of few queries, whose keys several workgroups share.

Rows of a tile are the queries of all heads that share keys, so that keys are read once
for these. Where there are fewer such tiles than a GPU holds, keys are cut in parts, of
which a workgroup takes one, and what the parts give is merged by `merge_kernel`.
"""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportOperatorIssue=false

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.attention import (
    Heads,
    attended,
    base_2,
    once,
    products,
    weighted,
)
from wave_kernels.definitions.attention_scores import PLAIN, Scoring
from wave_kernels.definitions.attention_tiles import (
    BLOCK_K2,
    BLOCK_M,
    K1,
    K2,
    MMA_ROWS,
    WAVES_M,
    B,
    H,
    M,
    N,
    spread,
)
from wave_kernels.definitions.key_parts import (
    HEADS,
    KEYS,
    LEAD,
    QUERIES,
    SEQUENCES,
    SPLIT,
    Cut,
)
from wave_kernels.definitions.operands import declared

if TYPE_CHECKING:
    from collections.abc import Mapping

SCORED = (*LEAD, M, K2)

MOST_ROWS = 64
"""Of a tile: more than these are several, for each of which keys are read."""

_NAMES = {B: SEQUENCES, H: HEADS, M: QUERIES, K2: KEYS}
"""Of the dims of a bias, what `head_attention_kernel` calls them, and memories here."""

_DEPTHS = {"wide": (64, 128), "narrow": (32, 64)}
"""Keys of a step, for waves of 64 and 32 lanes: few, so that several are on their way
to each compute unit at once."""


def split_attention_kernel(
    scale: float, *, heads: Heads, cut: Cut, scoring: Scoring = PLAIN
) -> Any:
    """Attention of ``B`` parts of sequences: part ``b % SPLIT`` of ``b // SPLIT``.

    Rows of a tile are queries of the heads that share keys, head after head. ``scale``,
    ``heads`` and ``scoring`` are as in `head_attention_kernel`; the last query stands
    at the last key.

    Shapes: as ``heads`` says, by default ``query: [SEQUENCES, QUERIES, HEADS, K1]``,
    ``key: [SEQUENCES, KEYS, H, K1]``, ``value: [SEQUENCES, KEYS, H, N]``,
    ``output: [B, QUERIES, HEADS, N]``, and, of several parts,
    ``sums: [SEQUENCES, SPLIT, QUERIES, HEADS]``, logarithms in base 2; ``bias`` as
    there, ``slopes: [HEADS]``. ``H`` are the heads of keys, ``M`` the rows that share
    each; ``K2`` are the most keys that there may be. Dtypes: as ``heads`` says, slopes
    and sums f32. Accuracy: as `head_attention_kernel`.
    """
    shapes = _shapes(heads, cut, scoring)
    operands = _operands(heads, shapes)
    own = cut.scoring(scoring)
    places = _Places(heads.group, cut, shapes)
    own = replace(own, bias=places.scored(scoring.bias))
    every = replace(own, causal=False, window=0).seen()
    tiles = _tiles(heads.group * cut.queries)

    @tkw.wave(spread(LEAD, None, tiles, **every))
    @declared(operands)
    def attention(*memories: Any) -> None:
        given = dict(zip(operands, memories, strict=True))

        def read(name: str, *dims: Any) -> Any:
            return places.read(given[name], name, dims)

        def scores() -> Any:
            q_reg, k_reg = read("query", *LEAD, M, K1), read("key", *LEAD, K2, K1)
            factor = tkl.Register[*SCORED, tkl.f32](scale)
            x_j = products(k_reg, q_reg, LEAD, None) * factor
            slopes = base_2(read("slopes", H, M), H, M) if own.alibi else None
            added = partial(read, "bias", *own.bias)
            return own.hidden(own.finished(x_j, SCORED, slopes, added))

        def values() -> Any:
            return read("value", *LEAD, N, K2)

        greatest, total, sums = attended(LEAD, scores, values, own, heads.dtype)
        found = tkw.cast(weighted(total, sums, LEAD, own), heads.result)
        places.write(found, given["output"], "output", (*LEAD, N, M))
        if cut.parts:
            weights, memory = greatest + tkw.log2(total), given["sums"]
            once(lambda: places.write(weights, memory, "sums", (*LEAD, M)))

    return attention


def _tiles(rows: int) -> tkw.Tunable:
    """Those that hold so many rows, 16 of them or more: as a matrix instruction has."""
    held = min(max(1 << (rows - 1).bit_length(), 16), MOST_ROWS)
    wide, narrow = (
        tuple((held, depth, held // 16, 16) for depth in _DEPTHS[lanes])
        for lanes in ("wide", "narrow")
    )
    symbols = BLOCK_M, BLOCK_K2, WAVES_M, MMA_ROWS
    return tkw.Tunable(symbols, wide, narrow=narrow)


def _shapes(heads: Heads, cut: Cut, scoring: Scoring) -> dict[str, tuple[Any, ...]]:
    """The dims of the memories of `split_attention_kernel`, in order."""
    found = {
        "query": heads.dims(SEQUENCES, HEADS, QUERIES, K1),
        "key": heads.dims(SEQUENCES, H, KEYS, K1),
        "value": heads.dims(SEQUENCES, H, KEYS, N),
    }
    if scoring.bias:
        found["bias"] = tuple(_NAMES[dim] for dim in scoring.bias)
    if scoring.alibi:
        found["slopes"] = (HEADS,)
    found["output"] = heads.dims(B, HEADS, QUERIES, N)
    if cut.parts:
        found["sums"] = (SEQUENCES, SPLIT, *found["output"][1:-1])
    return found


def _operands(heads: Heads, shapes: Mapping[str, Any]) -> dict[str, Any]:
    """The memories of `split_attention_kernel`, in order."""
    dtypes = {"slopes": tkl.f32, "output": heads.result, "sums": tkl.f32}
    whole, staged = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
    spaces = {"key": staged, "value": staged}
    return {
        name: tkl.Memory[*dims, spaces.get(name, whole), dtypes.get(name, heads.dtype)]
        for name, dims in shapes.items()
    }


@dataclass(frozen=True)
class _Places:
    """Where registers of a workgroup's part lie in memory.

    Attributes:
        group: How many heads of queries share one of keys.
        cut: How keys are spread.
        shapes: The dims of memories, by name.
    """

    group: int
    cut: Cut
    shapes: Mapping[str, tuple[Any, ...]]

    def read(self, memory: Any, name: str, dims: tuple[Any, ...]) -> Any:
        """A register with these dims, zeros where the part has no key."""
        register, taken = self._sides(name, dims)
        found = tkw.IndexMapping(len(dims), taken, register)
        bounds = {K2: self.cut.keys} if K2 in dims else None
        return tkw.read(memory, mapping=found, bounds=bounds)

    def write(self, found: Any, memory: Any, name: str, dims: tuple[Any, ...]) -> None:
        """Put what a register with these dims has where it belongs."""
        register, taken = self._sides(name, dims)
        tkw.write(found, memory, mapping=tkw.IndexMapping(len(dims), register, taken))

    def scored(self, dims: tuple[Any, ...]) -> tuple[Any, ...]:
        """The dims of scores along which a bias with these differs."""
        found = {H, *dims, M} if H in dims else {*dims}
        return tuple(dim for dim in SCORED if dim in found)

    def _sides(self, name: str, dims: tuple[Any, ...]) -> tuple[Any, Any]:
        """Of a register with these dims, and of the memory: where an element is."""
        register = {dim: tkw.IndexMapping.iterator(i) for i, dim in enumerate(dims)}
        at: dict[Any, Any] = dict(register)
        if B in register:
            at[SEQUENCES] = register[B] // self.cut.splits
            at[SPLIT] = register[B] % self.cut.splits
        if K2 in register:
            at[KEYS] = register[K2] + self.cut.first
        if M in register:
            shared = register.get(H, 0) * self.group
            at[HEADS] = shared + register[M] // self.cut.queries
            at[QUERIES] = register[M] % self.cut.queries
        return register, {dim: at[dim] for dim in self.shapes[name]}
