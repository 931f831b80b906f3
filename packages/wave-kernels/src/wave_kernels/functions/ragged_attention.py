"""Attention of sequences of different lengths, in caches of pages too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_kernels.definitions.ragged_attention import ragged_attention_kernel
from wave_kernels.functions.launches import launch
from wave_kernels.functions.ragged_calls import DYNAMIC, RaggedCall, Sequences
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    import torch

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def attention_varlen(  # noqa: PLR0913 - one word for each variant
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_starts: torch.Tensor,
    key_starts: torch.Tensor,
    *,
    max_queries: int,
    max_keys: int,
    table: torch.Tensor | None = None,
    tree: torch.Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
    slopes: torch.Tensor | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    checked: bool = True,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """`attention` of B sequences, whose queries lie one behind the other.

    Sequence b has queries ``query_starts[b]`` up to ``query_starts[b + 1]`` and as many
    keys as ``key_starts`` says: those rows of key and value, or, with a ``table``, the
    rows ``table[key_starts[b]:key_starts[b + 1]]``, wherever a cache has them; those of
    a table may be keys of earlier steps too. The last query stands at the last key.

    Args:
        query: ``[T, H, D]``, float16 or bfloat16; D from 1 to 256.
        key: ``[S, KVH, D]``, of query's type; KVH divides H.
        value: ``[S, KVH, DV]``, of query's type; DV at most 256.
        query_starts: ``[B + 1]``, int32, from 0 to T, ascending.
        key_starts: ``[B + 1]``, int32, ascending, to S or the table's length at most.
        max_queries: At least as many as a sequence has.
        max_keys: At least as many as a sequence has.
        table: ``[R]``, int32: the row of each key, at most S - 1.
        tree: ``[T, W]``, bool, W at least ``max_queries``: queries are drafts, whose
            keys are the last ones; which of its sequence's drafts each one sees.
        causal: Whether keys behind a query are hidden from it, by number.
        window: As in `attention`.
        slopes: As in `attention`.
        softcap: As in `attention`.
        scale: As in `attention`.
        checked: Whether numbers in starts and table are looked at, which waits for a
            GPU; without it those out of range touch other memory.
        out: Takes the result; a new tensor by default.

    Returns:
        ``[T, H, DV]``, as accurate as `attention`; zeros for a sequence without keys.
        Compiled for powers of two that hold ``max_queries``, and for all B.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import attention_varlen
        >>> rows = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float16).view(3, 1, 1)
        >>> starts = torch.tensor([0, 1, 3], dtype=torch.int32)
        >>> attention_varlen(rows, rows, rows, starts, starts, max_queries=2,
        ...                  max_keys=2, scale=0.0).flatten()
        tensor([1., 3., 3.], dtype=torch.float16)
    """
    between = query_starts, key_starts, max_queries, max_keys
    variant = causal, window, slopes, softcap, scale, checked
    sequences = Sequences(*between, *variant, table, tree)
    call = RaggedCall.of("attention_varlen", (query, key, value), sequences)
    found = call.given.result(out, call.output, query.dtype)
    if not found.numel() or call.empty:
        return found.zero_()
    what = {**call.what, "paged": table is not None, "tree": tree is not None}
    symbols = call.symbols | ({} if tree is None else {"WIDTH": tree.shape[1]})
    symbols |= call.tiles_of_queries()
    dynamic = DYNAMIC if table is None else (*DYNAMIC, "ROWS")
    launch(ragged_attention_kernel, what, symbols, (*call.operands, found), dynamic)
    return found
