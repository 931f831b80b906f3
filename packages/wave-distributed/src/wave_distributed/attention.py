"""Attention over a sequence that is spread over the processes of a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from wave_distributed.ring import Ring
from wave_kernels.functions import attention_with_lse
from wave_kernels.functions.arguments import Arguments, shape_of

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

    _Pair = tuple[torch.Tensor, torch.Tensor]
    """Keys and values."""

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
    if causal and query.shape[SEQUENCE] % 2:
        what = f"`query` has {query.shape[SEQUENCE]} rows, which are no two parts"
        given.refuse("WV0707", what, "take the part that `zigzag_part` gives")
    ring.agree(query, key, value, causal=causal, scale=scale)
    held = key.contiguous(), value.contiguous()
    found = _around(ring, query, held, causal=causal, scale=scale)
    return found.rows.to(query.dtype)


def _around(
    ring: Ring, query: torch.Tensor, held: _Pair, *, causal: bool, scale: float | None
) -> _Joined:
    """Attention to what a rank holds, while what the previous one holds arrives."""
    found = _Joined.empty(query, held[1])
    for step in range(ring.size):
        is_last = step + 1 == ring.size
        on_its_way = [] if is_last else [ring.hand_on(each) for each in held]
        owner = (ring.rank - step) % ring.size
        first, seen = _sight(held, owner - ring.rank) if causal else (0, held)
        own = causal and owner == ring.rank
        part = attention_with_lse(query[:, :, first:], *seen, causal=own, scale=scale)
        found.join(*part, first)
        if not is_last:
            held = on_its_way[0].received(), on_its_way[1].received()
    return found


def _sight(held: _Pair, behind: int) -> tuple[int, _Pair]:
    """From which query on those of a rank see which keys of another.

    Both ranks have a part from each end of the sequence. Of a rank before this one all
    queries see the first, none the second; of a rank ``behind`` it the later queries
    see both.
    """
    half = held[0].shape[SEQUENCE] // 2
    if behind > 0:
        return half, held
    if behind < 0:
        return 0, (held[0][:, :, :half], held[1][:, :, :half])
    return 0, held


@dataclass(frozen=True)
class _Joined:
    """What queries have found so far.

    Attributes:
        rows: Means of values, f32.
        lse: Logarithms of the sums of exponentials that they are means by, f32.
    """

    rows: torch.Tensor
    lse: torch.Tensor

    @classmethod
    def empty(cls, query: torch.Tensor, value: torch.Tensor) -> _Joined:
        """Of no keys."""
        shape = query.shape[:-1]
        rows = query.new_zeros((*shape, value.shape[-1]), dtype=torch.float32)
        return cls(rows, torch.full_like(rows[..., 0], -torch.inf))

    def join(self, rows: torch.Tensor, lse: torch.Tensor, first: int) -> None:
        """Add what queries from ``first`` on found among further keys."""
        kept, sums = self.rows[:, :, first:], self.lse[:, :, first:]
        whole = torch.logaddexp(sums, lse)
        # Queries that have seen no key yet have the logarithm of nothing.
        base = whole.masked_fill(whole == -torch.inf, 0.0)
        kept.mul_((sums - base).exp_().unsqueeze(-1))
        kept.addcmul_(rows.float(), (lse - base).exp_().unsqueeze(-1))
        sums.copy_(whole)
