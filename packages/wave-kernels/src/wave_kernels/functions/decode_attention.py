"""Attention of one query a sequence over caches, split where sequences are few."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.attention_scores import Scoring
from wave_kernels.definitions.decode_attention import (
    Decoding,
    decode_attention_kernel,
)
from wave_kernels.definitions.key_parts import Cut
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.attention_calls import (
    HALVES,
    check_heads,
    factor_of,
    scoring_of,
)
from wave_kernels.functions.key_parts import Asked, Filling
from wave_kernels.functions.launches import DTYPES
from wave_kernels.functions.options import whole
from wave_kernels.functions.ragged_calls import (
    check_starts,
    power_of_two,
    room_for,
)
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    from collections.abc import Mapping

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

MOST_SPLITS = 4_096
"""Parts of a sequence; a thread merges as many numbers."""

_FILLING = Filling(held=8, least=256)
"""Of workgroups of one wave."""

_ROWS = 16
"""Of a tile: heads that share keys."""

_DYNAMIC = ("B", "SEQUENCES", "SLOTS")
"""What differs from launch to launch."""


@repeated
def attention_decode(  # noqa: PLR0913 - one word for each variant
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_starts: torch.Tensor,
    *,
    max_keys: int,
    table: torch.Tensor | None = None,
    window: int | None = None,
    slopes: torch.Tensor | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    splits: int | None = None,
    checked: bool = True,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """`attention_varlen` of one query a sequence, which stands at the last key.

    Keys are read once for all heads that share them. Where sequences are few and long,
    each is cut in parts, which workgroups of their own compute; a second kernel merges
    them.

    Args:
        query: ``[B, H, D]``, float16 or bfloat16; D from 1 to 256.
        key: ``[S, KVH, D]``, of query's type; KVH divides H.
        value: ``[S, KVH, DV]``, of query's type; DV at most 256.
        key_starts: ``[B + 1]``, int32, ascending, to S or the table's length at most.
        max_keys: At least as many as a sequence has.
        table: ``[R]``, int32: the row of each key, at most S - 1.
        window: How many of the last keys are seen.
        slopes: As in `attention`.
        softcap: As in `attention`.
        scale: As in `attention`.
        splits: In how many parts each sequence is cut, at most 4,096; by default as
            many as fill the GPU, of 256 keys or more.
        checked: As in `attention_varlen`.
        out: Takes the result; a new tensor by default.

    Returns:
        ``[B, H, DV]``, as accurate as `attention`; zeros for a sequence without keys.
        Compiled once for all B, starts and splits.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import attention_decode
        >>> rows = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float16).view(3, 1, 1)
        >>> starts = torch.tensor([0, 1, 3], dtype=torch.int32)
        >>> attention_decode(rows[:2], rows, rows, starts, max_keys=2,
        ...                  scale=0.0).flatten()
        tensor([1., 3.], dtype=torch.float16)
    """
    given = Arguments.of("attention_decode", "query", query, HALVES)
    sizes = _sizes(given, query, key, value)
    operands = _operands(given, sizes, (query, key, value), key_starts, table)
    max_keys = whole(given, "max_keys", max_keys, 0)
    if checked:
        _check_numbers(given, key_starts, max_keys, key, table)
    scoring = scoring_of(given, window, softcap)
    if slopes is not None:
        numbers = given.tensor("slopes", slopes, (query.shape[1],), torch.float32)
        operands.append(numbers.view(sizes["H"], sizes["M"]))
    found = given.result(out, (*query.shape[:2], sizes["N"]), query.dtype)
    parts = _parts(given, splits, sizes, min(max_keys, scoring.window or max_keys))
    if not found.numel() or max_keys < 1:
        return found.zero_()
    dtype, paged = DTYPES[query.dtype], table is not None
    cut = Cut(parts > 1, window=scoring.window)
    what = {
        "scale": factor_of(given, scale, query.shape[2]),
        "decoding": Decoding(cut, paged, dtype),
        "scoring": Scoring(softcap=scoring.softcap, alibi=slopes is not None),
    }
    dynamic = (*_DYNAMIC, *(["ROWS"] if paged else []))
    kernel = decode_attention_kernel, what, "decoding"
    asked = Asked(*kernel, _symbols(sizes, max_keys), dynamic, operands)
    asked.launch(parts, found.view(len(found), sizes["H"], -1, sizes["N"]))
    return found


def _symbols(sizes: Mapping[str, int], max_keys: int) -> dict[str, int]:
    """Those that do not differ by launch; one head of keys a workgroup."""
    found = {name: sizes[name] for name in ("H", "M", "K1", "N")}
    found["BLOCK_N"] = max(power_of_two(sizes["N"]), _ROWS)
    return found | {"K2": room_for(max_keys), "BLOCK_B": 1, "BLOCK_H": 1}


def _sizes(given: Arguments, query: Any, key: Any, value: Any) -> dict[str, int]:
    """By the kernel's names: heads of keys, and the rows that share each."""
    b, h, d = shape_of(given, "query", query, "bhd")
    _, kvh, _ = shape_of(given, "key", key, "shd")
    *_, dv = shape_of(given, "value", value, "shd")
    check_heads(given, h, kvh, d, dv)
    rows = h // max(kvh, 1)
    return {"SEQUENCES": b, "H": kvh, "M": rows, "K1": d, "N": dv}


def _operands(
    given: Arguments,
    sizes: Mapping[str, int],
    rows: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    key_starts: Any,
    table: Any,
) -> list[torch.Tensor]:
    """Those of the kernel up to the table, seen to fit."""
    query, key, value = rows
    b, kvh, m, d, dv = sizes.values()
    found = [
        given.tensor("query", query, (b, kvh * m, d)).view(b, kvh, m, d),
        given.tensor("key", key, (key.shape[0], kvh, d)),
        given.tensor("value", value, (key.shape[0], kvh, dv)),
        given.tensor("key_starts", key_starts, (b + 1,), torch.int32),
    ]
    if table is not None:
        count = table.numel() if isinstance(table, torch.Tensor) else 0
        found.append(given.tensor("table", table, (count,), torch.int32))
    return found


def _check_numbers(
    given: Arguments,
    key_starts: torch.Tensor,
    max_keys: int,
    key: torch.Tensor,
    table: torch.Tensor | None,
) -> None:
    """See that no number leads outside of the tensors."""
    rows = (key if table is None else table).shape[0]
    check_starts(given, "key_starts", key_starts, max_keys, rows)
    if table is not None:
        given.check_rows("table", table, "key", key.shape[0])


def _parts(
    given: Arguments, splits: int | None, sizes: Mapping[str, int], seen: int
) -> int:
    """In how many parts sequences are cut of which so many keys are seen."""
    if splits is not None:
        return whole(given, "splits", splits, 1, MOST_SPLITS)
    tiles = sizes["SEQUENCES"] * sizes["H"] * -(-sizes["M"] // _ROWS)
    return _FILLING.parts(given.first.device, tiles, seen)
