"""Attention over a sequence that is spread over the processes of a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from wave_distributed.ring import Ring
from wave_kernels.functions import attention_with_lse
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.attention_join import join_rows

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

    from wave_kernels.functions.attention_join import Found

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

HALVES = (torch.float16, torch.bfloat16)
"""What matrix units take."""

SEQUENCE = 2
"""The dimension of the sequence in ``[B, H, S, D]``."""


def zigzag_part(
    sequence: torch.Tensor, *, dim: int = SEQUENCE, group: ProcessGroup | None = None
) -> torch.Tensor:
    """This rank's part of a whole sequence, as causal `ring_attention` wants it.

    Of ``2 * ranks`` parts in order rank r has number r, and behind it the one that is
    as far from the end: early queries see few keys and late ones many, so that each
    rank has as much to do as the others.

    Args:
        sequence: Any tensor; twice the number of ranks divides ``dim``.
        dim: The dimension of the sequence.
        group: The processes; all of them by default.

    Raises:
        LaunchError: WV0707 for a length that cannot be divided, WV0731 outside of a
            group.
    """
    ring = Ring.of("zigzag_part", group)
    parts = 2 * ring.size
    if sequence.shape[dim] % parts:
        given = Arguments("zigzag_part", sequence)
        what = f"`sequence` has a length of {sequence.shape[dim]}, for {parts} parts"
        given.refuse("WV0707", what, "pad it to a multiple")
    rows = sequence.tensor_split(parts, dim)
    return torch.cat([rows[ring.rank], rows[parts - 1 - ring.rank]], dim)


def ring_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    group: ProcessGroup | None = None,
) -> torch.Tensor:
    """``softmax(scale * query key^T) value`` over the keys of all ranks.

    Keys and values travel around the ring; each rank attends to those that it has while
    the next ones arrive, and joins what it finds by the sums of exponentials.
    Source: H. Liu et al., Ring Attention with Blockwise Transformers, 2023.

    Args:
        query: ``[B, H, S / ranks, D]``, float16 or bfloat16: this rank's.
        key: ``[B, KVH, S / ranks, D]``, of query's type; KVH divides H.
        value: ``[B, KVH, S / ranks, DV]``, of query's type.
        causal: Whether a query sees no key behind it. Ranks then have the parts of the
            sequence that `zigzag_part` gives them; else the order does not matter.
        scale: ``1 / sqrt(D)`` by default.
        group: The processes; all of them by default.

    Returns:
        ``[B, H, S / ranks, DV]``, of query's type, for this rank's queries. Accuracy:
        as `attention`, of each rank's keys; what is joined is kept in f32. Every call
        gives the same bits.

    Raises:
        LaunchError: WV0707 for a causal part of odd length, WV0730 where ranks
            disagree, WV0731 where one does not answer, and as `attention`.
    """
    given = Arguments.of("ring_attention", "query", query, HALVES)
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        shape_of(given, name, tensor, "bhsd")
    ring = Ring.of("ring_attention", group)
    _check_parts(given, query, key, causal=causal)
    ring.agree(query, key, value, causal=causal, scale=scale)
    held = key.contiguous(), value.contiguous()
    return _around(ring, query, held, causal=causal, scale=scale)


def _check_parts(
    given: Arguments, query: torch.Tensor, key: torch.Tensor, *, causal: bool
) -> None:
    """See that both have the same two parts of the sequence, where that counts."""
    advice = "take the part that `zigzag_part` gives"
    rows, keys = query.shape[SEQUENCE], key.shape[SEQUENCE]
    if causal and rows % 2:
        given.refuse(
            "WV0707", f"`query` has {rows} rows, which are no two parts", advice
        )
    if causal and keys != rows:
        given.refuse("WV0707", f"`key` has {keys} rows, `query` {rows}", advice)


def _around(
    ring: Ring,
    query: torch.Tensor,
    held: tuple[torch.Tensor, ...],
    *,
    causal: bool,
    scale: float | None,
) -> torch.Tensor:
    """Attention to keys and values of a rank, while those of the previous arrive."""
    found: _Found | None = None
    for step in range(ring.size):
        # First, since the kernel that follows leaves a transfer no room until its end.
        passing = ring.hand_on(*held) if step + 1 < ring.size else None
        sight = _Sight.of(ring, step, query.shape[SEQUENCE], causal=causal)
        part = attention_with_lse(
            query[:, :, sight.first :],
            *(each[:, :, : sight.keys] for each in held),
            causal=causal and not step,
            scale=scale,
        )
        found = found.joined(part, sight) if found else _Found(part[0], part)
        if passing is not None:
            held = passing.all_received()
    assert found is not None, "a ring has a rank"
    return found.result


@dataclass(frozen=True)
class _Sight:
    """Which queries of a rank see which keys, at one step of a ring.

    Attributes:
        first: The first query that sees some; those behind it do, too.
        keys: How many keys they see, the first ones; ``None`` for all.
        done: Behind the last query that sees none at any later step; ``first`` or on.
    """

    first: int
    keys: int | None
    done: int

    @classmethod
    def of(cls, ring: Ring, step: int, queries: int, *, causal: bool) -> _Sight:
        """What so many queries see of the rank that had the keys at first.

        Where it is ``causal`` every rank has a part from each end of the sequence. Of a
        rank before this one all queries see the first part, none the second; of a rank
        behind it the later queries see both.
        """
        owner, half = (ring.rank - step) % ring.size, queries // 2
        last = queries if step + 1 == ring.size else 0
        if not causal or owner == ring.rank:
            return cls(0, None, last)
        if owner > ring.rank:
            return cls(half, None, last or half)
        return cls(0, half, last or (0 if owner else half))


@dataclass(frozen=True)
class _Found:
    """What queries have found so far.

    Attributes:
        result: Means of values, of the queries' type: of those that are done, and of
            those that have seen the keys of one rank.
        sums: What is the newest of queries that are not done: means, and the logarithms
            of the sums of exponentials that they are means by; f32 from the second rank
            on, so that each result is rounded once.
    """

    result: torch.Tensor
    sums: Found

    def joined(self, part: Found, sight: _Sight) -> _Found:
        """With what queries found among further keys."""
        rows, lse = self.sums
        end, logs = lse.shape[SEQUENCE], torch.empty_like(lse)
        if sight.done < end and rows is self.result:
            rows = torch.empty_like(rows, dtype=torch.float32)
        join_rows(self.sums, part, (self.result, logs), sight.first, sight.done)
        join_rows(self.sums, part, (rows, logs), sight.done, end)
        return _Found(self.result, (rows, logs))
