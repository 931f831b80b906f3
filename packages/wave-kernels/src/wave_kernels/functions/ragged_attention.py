"""Attention of sequences of different lengths, in caches of pages too."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.attention import Heads
from wave_kernels.definitions.ragged_attention import ragged_attention_kernel
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.attention_calls import (
    HALVES,
    check_heads,
    factor_of,
    scoring_of,
)
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.options import whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_kernels.definitions.attention_scores import Scoring

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

_DYNAMIC = ("TOKENS", "SLOTS", "B")
"""What differs from launch to launch."""

_ROOM = 1 << 20
"""Keys that a sequence has room for: kernels look at those which it has."""


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
    given = Arguments.of("attention_varlen", "query", query, HALVES)
    sizes = _sizes(given, query, key, value)
    starts = {"query_starts": query_starts, "key_starts": key_starts}
    operands = _operands(given, sizes, (query, key, value), starts, table)
    most = _most(given, max_queries, max_keys)
    if checked:
        _check_numbers(given, starts, most, sizes, table)
    scoring = scoring_of(given, window, softcap, causal=causal)
    operands += _added(given, sizes, tree, slopes, most[0])
    found = given.result(out, (*query.shape[:2], sizes["N"]), query.dtype)
    if not found.numel() or len(query_starts) < 2 or min(most) < 1:
        return found.zero_()
    kernel = _kernel(given, sizes, scoring, scale, alibi=slopes is not None)
    kernel |= {"paged": table is not None, "tree": tree is not None}
    symbols = _symbols(sizes, *most, tree)
    _launch(kernel, symbols, (*operands, found))
    return found


def _kernel(
    given: Arguments,
    sizes: Mapping[str, int],
    scoring: Scoring,
    scale: float | None,
    *,
    alibi: bool,
) -> dict[str, Any]:
    """What `ragged_attention_kernel` is asked for."""
    dtype = DTYPES[given.first.dtype]
    heads = Heads("bshd", sizes["H"] // sizes["KVH"], dtype, dtype)
    factor = factor_of(given, scale, sizes["K1"])
    return {"scale": factor, "heads": heads, "scoring": replace(scoring, alibi=alibi)}


def _most(given: Arguments, queries: int, keys: int) -> tuple[int, int]:
    """Of the queries and of the keys of a sequence."""
    queries = whole(given, "max_queries", queries, 0)
    return queries, whole(given, "max_keys", keys, 0)


def _launch(
    kernel: Mapping[str, Any],
    symbols: Mapping[str, int],
    operands: tuple[torch.Tensor, ...],
) -> None:
    dynamic = (*_DYNAMIC, "ROWS") if kernel["paged"] else _DYNAMIC
    launch(ragged_attention_kernel, kernel, symbols, operands, dynamic)


def _sizes(given: Arguments, query: Any, key: Any, value: Any) -> dict[str, int]:
    """What the shapes say, before they are compared with each other."""
    t, h, d = shape_of(given, "query", query, "thd")
    s, kvh, _ = shape_of(given, "key", key, "shd")
    *_, dv = shape_of(given, "value", value, "shd")
    check_heads(given, h, kvh, d, dv)
    return {"T": t, "H": h, "K1": d, "S": s, "KVH": kvh, "N": dv}


def _operands(
    given: Arguments,
    sizes: Mapping[str, int],
    rows: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    starts: Mapping[str, Any],
    table: Any,
) -> list[torch.Tensor]:
    """Those of the kernel up to the table, seen to fit."""
    query, key, value = rows
    return [
        given.tensor("query", query, query.shape),
        given.tensor("key", key, (sizes["S"], sizes["KVH"], sizes["K1"])),
        given.tensor("value", value, (sizes["S"], sizes["KVH"], sizes["N"])),
        *_starts(given, starts, table),
    ]


def _starts(
    given: Arguments, starts: Mapping[str, Any], table: Any
) -> list[torch.Tensor]:
    """Starts of equally many sequences, and the table where there is one."""
    first = starts["query_starts"]
    ends = first.shape[0] if isinstance(first, torch.Tensor) and first.ndim else 0
    found = [given.tensor(n, t, (ends,), torch.int32) for n, t in starts.items()]
    if not ends:
        given.refuse("WV0707", "`query_starts` is empty", "it has one number, or more")
    if table is None:
        return found
    rows = table.numel() if isinstance(table, torch.Tensor) else 0
    return [*found, given.tensor("table", table, (rows,), torch.int32)]


def _added(
    given: Arguments, sizes: Mapping[str, int], tree: Any, slopes: Any, width: int
) -> list[torch.Tensor]:
    """Which draft each query sees, a byte each, and slopes, where there are any."""
    found: list[torch.Tensor] = []
    if tree is not None:
        wide = (
            isinstance(tree, torch.Tensor) and tree.ndim == 2 and tree.shape[1] > width
        )
        shape = (sizes["T"], tree.shape[1] if wide else width)
        found.append(given.tensor("tree", tree, shape, torch.bool).view(torch.int8))
    if slopes is not None:
        found.append(given.tensor("slopes", slopes, (sizes["H"],), torch.float32))
    return found


def _check_numbers(
    given: Arguments,
    starts: Mapping[str, torch.Tensor],
    most: tuple[int, int],
    sizes: Mapping[str, int],
    table: torch.Tensor | None,
) -> None:
    """See that no number leads outside of the tensors."""
    rows = {"query_starts": sizes["T"], "key_starts": sizes["S"]}
    if table is not None:
        rows["key_starts"] = table.shape[0]
    for (name, numbers), longest in zip(starts.items(), most, strict=True):
        check_starts(given, name, numbers, longest, rows[name])
    if table is not None:
        given.check_rows("table", table, "key", sizes["S"])


def check_starts(
    given: Arguments, name: str, starts: torch.Tensor, most: int, rows: int
) -> None:
    """See that sequences lie within the rows, and are as long as is said at most.

    Raises:
        LaunchError: WV0707 where they do not, or are longer.
    """
    numbers = [int(each) for each in starts.cpu()]
    lengths = [end - start for start, end in pairwise(numbers)]
    if numbers[0] < 0 or numbers[-1] > rows or min(lengths, default=0) < 0:
        what = f"`{name}` does not ascend from 0 or more to {rows} or less"
        given.refuse(
            "WV0707", what, "it has the first row of each sequence, and an end"
        )
    if name == "query_starts" and (numbers[0], numbers[-1]) != (0, rows):
        what = f"`{name}` goes from {numbers[0]} to {numbers[-1]}"
        given.refuse("WV0707", what, f"each query belongs to a sequence: 0 to {rows}")
    if max(lengths, default=0) > most:
        what = f"`{name}` has a sequence of {max(lengths)} rows"
        given.refuse("WV0707", what, f"the most is given as {most}; give a larger one")


def _symbols(
    sizes: Mapping[str, int],
    max_queries: int,
    max_keys: int,
    tree: torch.Tensor | None,
) -> dict[str, int]:
    """By the names that the kernel has for them; one head a workgroup."""
    names = ["H", "K1", "N", *(["KVH"] if sizes["KVH"] != sizes["H"] else [])]
    found = {name: sizes[name] for name in names}
    found |= {"BLOCK_B": 1, "BLOCK_H": 1}
    found |= {} if tree is None else {"WIDTH": tree.shape[1]}
    return {**found, "M": power_of_two(max_queries), "K2": room_for(max_keys)}


def power_of_two(count: int) -> int:
    """The power of two that holds so many, so that few kernels are compiled."""
    return 1 << (count - 1).bit_length()


def room_for(keys: int) -> int:
    """``K2`` for sequences of so many keys at most: one number for nearly all."""
    return max(_ROOM, power_of_two(keys))
