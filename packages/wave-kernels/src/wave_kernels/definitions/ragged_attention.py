"""Attention of sequences of different lengths, one behind the other in memory."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.attention import (
    Heads,
    MMATypes,
    attended,
    log_sum,
    once,
    products,
    slopes_of,
    weighted,
)
from wave_kernels.definitions.attention_scores import PLAIN, Scoring
from wave_kernels.definitions.attention_tiles import (
    K1,
    K2,
    QUERY_SPACE,
    TILES,
    B,
    H,
    M,
    N,
    mapping,
    spread,
)
from wave_kernels.definitions.groups import enter_part, starts_of
from wave_kernels.definitions.operands import declared

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKENS = tkl.sym.TOKENS
"""Queries of all sequences."""

SLOTS = tkl.sym.SLOTS
"""Keys in memory, of all sequences and of none."""

ROWS = tkl.sym.ROWS
"""Keys of all sequences, where a table says in which slots they are."""

WIDTH = tkl.sym.WIDTH
"""The most draft tokens that a sequence may have."""

FIRST_QUERY, QUERIES = tkl.sym.FIRST_QUERY, tkl.sym.QUERIES
FIRST_KEY, KEYS = tkl.sym.FIRST_KEY, tkl.sym.KEYS
"""Of the sequence of a workgroup."""

PARTS = {TOKENS: (M, FIRST_QUERY), SLOTS: (K2, FIRST_KEY)}
"""What a workgroup's sequence has of the rows of all, of `mapping`."""


def ragged_attention_kernel(
    scale: float,
    mma_types: MMATypes = (None, None),
    *,
    heads: Heads,
    scoring: Scoring = PLAIN,
    paged: bool = False,
    tree: bool = False,
    lse: bool = False,
) -> Any:
    """Attention over heads of ``B`` sequences, each with keys of its own.

    Sequence b has the queries from ``query_starts[b]`` up to ``query_starts[b + 1]``,
    and as many keys as ``key_starts`` says, in the slots from its start on; where
    ``paged``, in those that ``table`` has from there on. ``scale`` and ``scoring`` are
    as in `head_attention_kernel`, without a bias; the last query of each sequence
    stands at its last key. With a ``tree`` queries are drafts of what may follow, and
    theirs are the last keys: query m sees draft j where ``tree`` has no zero there.
    ``lse`` asks for the logarithms of the sums of powers of e of rows' scores.

    Shapes: ``query: [TOKENS, H, K1]``, ``key: [SLOTS, KVH, K1]``,
    ``value: [SLOTS, KVH, N]``, both starts ``[B + 1]``, ``table: [ROWS]``,
    ``tree: [TOKENS, WIDTH]``, ``slopes: [H]``, ``output: [TOKENS, H, N]``,
    ``lse: [H, TOKENS]``; ``M`` and ``K2`` are the most queries and keys that a sequence
    may have. Dtypes: as ``heads`` says; starts and table i32, tree i8, slopes and
    ``lse`` f32. Accuracy: as
    `head_attention_kernel`.
    """
    lead, scored = (B, H), (B, H, M, K2)
    own = of_sequence(scoring)
    operands = _operands(heads, own, paged=paged, tree=tree)
    if lse:
        whole = tkl.GLOBAL_ADDRESS_SPACE
        operands["lse"] = tkl.Memory[*of_all((B, H, M)), whole, tkl.f32]
    places = _Places(heads, paged=paged)

    @tkw.wave(spread(lead, mma_types[1], TILES, growing=own.growing, **own.seen()))
    @declared(operands)
    def attention(*memories: Any) -> None:
        given = dict(zip(operands, memories, strict=True))
        enter_sequence(given)
        gk_scaling = tkl.Register[*scored, tkl.f32](scale)
        slopes = slopes_of(given["slopes"]) if own.alibi else None

        def scores() -> Any:
            q_reg = places.queries(given["query"])
            k_reg = places.keys(given["key"], given.get("table"), (K2, K1))
            x_j = products(k_reg, q_reg, lead, mma_types[0]) * gk_scaling
            masks = [places.drafts(given["tree"])] if tree else []
            return own.hidden(own.finished(x_j, scored, slopes), *masks)

        def values() -> Any:
            return places.keys(given["value"], given.get("table"), (N, K2))

        greatest, total, sums = attended(lead, scores, values, own, heads.dtype)
        found = tkw.cast(weighted(total, sums, lead, own), heads.result)
        places.write(found, given["output"])
        if lse:
            logs, memory = log_sum(greatest, total), given["lse"]
            row = mapping(B, H, M, to=of_all((B, H, M)), parts=PARTS, written=True)
            once(lambda: tkw.write(logs, memory, mapping=row, bounds={M: QUERIES}))

    return attention


def of_sequence(scoring: Scoring) -> Scoring:
    """What is done to the scores of a workgroup's sequence."""
    return replace(scoring, offset=KEYS - QUERIES, keys=KEYS, complete=True)


def of_all(dims: tuple[Any, ...]) -> tuple[Any, ...]:
    """The dims of a memory of sequences behind each other, by those of a batch."""
    rows = {M: TOKENS, K2: SLOTS}
    return tuple(rows.get(dim, dim) for dim in dims if dim != B)


def enter_sequence(given: Mapping[str, Any]) -> None:
    """Set where the rows of a workgroup's sequence are, by the memories of starts."""
    enter_part(given["query_starts"], B, FIRST_QUERY, QUERIES)
    enter_part(given["key_starts"], B, FIRST_KEY, KEYS)


@dataclass(frozen=True)
class _Places:
    """Where the rows of a workgroup's sequence lie."""

    heads: Heads
    paged: bool

    def queries(self, memory: Any) -> Any:
        """Those of the sequence, zeros behind its last."""
        row = _ITERATORS[2] + FIRST_QUERY
        found = _mapping((M, K1), {TOKENS: row, H: _ITERATORS[1], K1: _ITERATORS[3]})
        return tkw.read(memory, mapping=found, bounds={M: QUERIES})

    def keys(self, memory: Any, table: Any, dims: tuple[Any, Any]) -> Any:
        """Keys or values, by the last two dims of the register."""
        at = dict(zip(dims, _ITERATORS[2:], strict=True))
        row, (channel,) = at[K2], [dim for dim in dims if dim != K2]
        head = _ITERATORS[1] // self.heads.group
        slot = tkw.IndexMapping.dynamic_val(0) if self.paged else row + FIRST_KEY
        taken = {SLOTS: slot, self.heads.shared: head, channel: at[channel]}
        if not self.paged:
            found = _mapping(dims, taken)
            return tkw.read(memory, mapping=found, bounds={K2: KEYS})
        found = _mapping(dims, taken, {K2: row})
        slots = (_slots(table),)
        return tkw.read(
            memory, mapping=found, mapping_dynamic_vals=slots, bounds={K2: KEYS}
        )

    def drafts(self, tree: Any) -> Any:
        """Whether a query sees a key, ``[M, K2]``: it does before the drafts' keys."""
        query, key = _ITERATORS[:2]
        before = KEYS - QUERIES
        draft = sympy.Max(sympy.Min(key - before, WIDTH - 1), 0)
        taken = {TOKENS: query + FIRST_QUERY, WIDTH: draft}
        found = tkw.IndexMapping(2, taken, {M: query, K2: key})
        bounds = {M: QUERIES, K2: KEYS}
        allowed = tkw.cast(tkw.read(tree, mapping=found, bounds=bounds), tkl.i32)
        none = tkl.Register[M, K2, tkl.i32](0)
        own = tkw.self_index(K2, tkl.i32)
        early = tkw.apply_expr(own, lambda k: k < before)
        return (allowed != none) | tkw.broadcast(early, target_shape=[M, K2])

    def write(self, found: Any, memory: Any) -> None:
        """The rows of the sequence, and none behind its last."""
        row = _ITERATORS[3] + FIRST_QUERY
        register = dict(zip((B, H, N, M), _ITERATORS, strict=True))
        taken = {TOKENS: row, H: _ITERATORS[1], N: _ITERATORS[2]}
        out = tkw.IndexMapping(4, inputs=register, outputs=taken)
        tkw.write(found, memory, mapping=out, bounds={M: QUERIES})


_ITERATORS = tuple(tkw.IndexMapping.iterator(i) for i in range(4))


def _mapping(
    dims: tuple[Any, Any], taken: dict[Any, Any], *rows: dict[Any, Any]
) -> tkw.IndexMapping:
    """A memory read as ``[B, H, *dims]``."""
    register = dict(zip((B, H, *dims), _ITERATORS, strict=True))
    return tkw.IndexMapping(4, taken, register, dynamic_val_mappings=rows)


def _slots(table: Any) -> Any:
    """The slots of a tile of keys."""
    row = tkw.IndexMapping.iterator(0)
    found = tkw.IndexMapping(1, inputs={ROWS: row + FIRST_KEY}, outputs={K2: row})
    return tkw.read(table, mapping=found, bounds={K2: KEYS})


def _operands(
    heads: Heads, scoring: Scoring, *, paged: bool, tree: bool
) -> dict[str, Any]:
    """The memories of `ragged_attention_kernel`, in order."""
    whole, staged = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
    found = {
        "query": tkl.Memory[TOKENS, H, K1, QUERY_SPACE, heads.dtype],
        "key": tkl.Memory[SLOTS, heads.shared, K1, staged, heads.dtype],
        "value": tkl.Memory[SLOTS, heads.shared, N, staged, heads.dtype],
        "query_starts": starts_of(B),
        "key_starts": starts_of(B),
    }
    if paged:
        found["table"] = tkl.Memory[ROWS, whole, tkl.i32]
    if tree:
        found["tree"] = tkl.Memory[TOKENS, WIDTH, whole, tkl.i8]
    if scoring.alibi:
        found["slopes"] = tkl.Memory[H, whole, tkl.f32]
    found["output"] = tkl.Memory[TOKENS, H, N, whole, heads.result]
    return found
