"""Attention of one query a sequence, whose keys several workgroups share.

Rows of a tile are the heads of a query that share keys, so that keys are read once for
all of them. With few sequences and long caches there are fewer such tiles than a GPU
holds: then each sequence's keys are cut in parts, a workgroup takes one, and what
the parts give is merged by the logarithms of their sums.
"""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportOperatorIssue=false
# pyright: reportInvalidTypeForm=false, reportAssignmentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.attention import attended, base_2, products, weighted
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
    mapping,
    spread,
)
from wave_kernels.definitions.groups import enter_part, starts_of
from wave_kernels.definitions.key_parts import KEYS, LEAD, SEQUENCES, SPLIT, WHOLE, Cut
from wave_kernels.definitions.operands import declared
from wave_kernels.definitions.ragged_attention import ROWS, SLOTS

if TYPE_CHECKING:
    from wave_core.types import DType

START = tkl.sym.START
"""The first key of a workgroup's sequence."""

TILES = tkw.Tunable(
    (BLOCK_M, BLOCK_K2, WAVES_M, MMA_ROWS),
    ((16, 64, 1, 16), (16, 128, 1, 16)),
    narrow=((16, 32, 1, 16), (16, 64, 1, 16)),
)
_ITERATORS = tuple(tkw.IndexMapping.iterator(i) for i in range(4))


@dataclass(frozen=True)
class Decoding:
    """How a cache is decoded.

    Attributes:
        cut: Which keys a workgroup has.
        paged: Whether a table says where keys are.
        dtype: Of queries, keys and values: f16 or bf16.
        result: Of what is written.
    """

    cut: Cut = WHOLE
    paged: bool = False
    dtype: DType = tkl.f16
    result: DType = tkl.f32


def decode_attention_kernel(
    scale: float, *, decoding: Decoding, scoring: Scoring = PLAIN
) -> Any:
    """Attention of ``B`` parts of sequences: part ``b % SPLIT`` of ``b // SPLIT``.

    The query of a sequence stands at its last key. The keys of sequence s are those in
    the slots from ``key_starts[s]`` up to the next start; where paged, in those that
    ``table`` has from there on. ``scale`` is as in `head_attention_kernel`; of
    ``scoring`` cap and slopes are looked at.

    Shapes: ``query: [SEQUENCES, H, M, K1]``, M heads that share each of H heads of
    keys, ``key: [SLOTS, H, K1]``, ``value: [SLOTS, H, N]``,
    ``key_starts: [SEQUENCES + 1]``, ``table: [ROWS]``, ``slopes: [H, M]``,
    ``output: [B, H, M, N]``, and, of several parts, ``sums: [SEQUENCES, SPLIT, H, M]``,
    logarithms in base 2. Dtypes: as ``decoding`` says; starts and table i32, slopes and
    sums f32. Accuracy: as `attention_kernel`.
    """
    cut, own = decoding.cut, decoding.cut.scoring(scoring)
    operands = _operands(decoding, own)
    places = _Places(decoding)
    out = mapping(*LEAD, N, M, to=(*LEAD, M, N), written=True)

    @tkw.wave(spread(LEAD, None, TILES, **own.seen()))
    @declared(operands)
    def decode_attention(*memories: Any) -> None:
        given = dict(zip(operands, memories, strict=True))
        enter_part(given["key_starts"], B, START, KEYS, cut.splits)
        slopes = base_2(tkw.read(given["slopes"]), H, M) if own.alibi else None

        def scores() -> Any:
            q_reg = places.queries(given["query"])
            k_reg = places.keys(given["key"], given.get("table"), (K2, K1))
            factor = tkl.Register[*LEAD, M, K2, tkl.f32](scale)
            x_j = products(k_reg, q_reg, LEAD, None) * factor
            return own.hidden(own.finished(x_j, (*LEAD, M, K2), slopes))

        def values() -> Any:
            return places.keys(given["value"], given.get("table"), (N, K2))

        greatest, total, sums = attended(LEAD, scores, values, own, decoding.dtype)
        found = weighted(total, sums, LEAD, own)
        tkw.write(tkw.cast(found, decoding.result), given["output"], mapping=out)
        if cut.parts:
            places.write_sums(greatest + tkw.log2(total), given["sums"])

    return decode_attention


@dataclass(frozen=True)
class _Places:
    """Where the rows of a workgroup's part lie."""

    decoding: Decoding

    def queries(self, memory: Any) -> Any:
        """The heads of the sequence's query."""
        b, h, m, k = _ITERATORS
        taken = {SEQUENCES: b // self.decoding.cut.splits, H: h, M: m, K1: k}
        register = dict(zip((*LEAD, M, K1), _ITERATORS, strict=True))
        return tkw.read(memory, mapping=tkw.IndexMapping(4, taken, register))

    def keys(self, memory: Any, table: Any, dims: tuple[Any, Any]) -> Any:
        """Keys or values, by the last two dims of the register."""
        register = dict(zip((*LEAD, *dims), _ITERATORS, strict=True))
        (channel,) = [dim for dim in dims if dim != K2]
        place = register[K2] + START + self.decoding.cut.first
        slot = tkw.IndexMapping.dynamic_val(0) if self.decoding.paged else place
        taken = {SLOTS: slot, H: register[H], channel: register[channel]}
        bounds = {K2: self.decoding.cut.keys}
        if not self.decoding.paged:
            found = tkw.IndexMapping(4, taken, register)
            return tkw.read(memory, mapping=found, bounds=bounds)
        rows = ({K2: register[K2]},)
        found = tkw.IndexMapping(4, taken, register, dynamic_val_mappings=rows)
        slots = (self._slots(table),)
        return tkw.read(
            memory, mapping=found, mapping_dynamic_vals=slots, bounds=bounds
        )

    def write_sums(self, found: Any, memory: Any) -> None:
        """One number for each row of a part."""
        b, h, m, _ = _ITERATORS
        sequence, part = b // self.decoding.cut.splits, b % self.decoding.cut.splits
        taken = {SEQUENCES: sequence, SPLIT: part, H: h, M: m}
        register = dict(zip((*LEAD, M), (b, h, m), strict=True))
        tkw.write(found, memory, mapping=tkw.IndexMapping(3, register, taken))

    def _slots(self, table: Any) -> Any:
        """The slots of a tile of keys."""
        row = _ITERATORS[0]
        taken = {ROWS: row + START + self.decoding.cut.first}
        found = tkw.IndexMapping(1, taken, {K2: row})
        return tkw.read(table, mapping=found, bounds={K2: self.decoding.cut.keys})


def _operands(decoding: Decoding, scoring: Scoring) -> dict[str, Any]:
    """The memories of `decode_attention_kernel`, in order."""
    whole, staged = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
    dtype = decoding.dtype
    found = {
        "query": tkl.Memory[SEQUENCES, H, M, K1, whole, dtype],
        "key": tkl.Memory[SLOTS, H, K1, staged, dtype],
        "value": tkl.Memory[SLOTS, H, N, staged, dtype],
        "key_starts": starts_of(SEQUENCES),
    }
    if decoding.paged:
        found["table"] = tkl.Memory[ROWS, whole, tkl.i32]
    if scoring.alibi:
        found["slopes"] = tkl.Memory[H, M, whole, tkl.f32]
    found["output"] = tkl.Memory[B, H, M, N, whole, decoding.result]
    if decoding.cut.parts:
        found["sums"] = tkl.Memory[SEQUENCES, SPLIT, H, M, whole, tkl.f32]
    return found
