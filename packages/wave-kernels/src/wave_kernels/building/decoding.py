"""What is built for one query a sequence, of any sequences: pages, and whole keys.

How many sequences there are and how long they may be comes with the launch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import torch

from wave_kernels import functions
from wave_kernels.building.calling import HALVES, Call, tensor_of, word

CHANNELS, NARROW = WIDTHS = (128, 64)
"""Of a head: of pages, and of whole keys as well."""

GROUPS = (1, 4, 8)
"""Heads of queries that share one of keys, of Llama 2 7B, Llama 3 8B and 70B. Source:
their `config.json`."""

_HEADS, _SEQUENCES, _SLOTS, _KEYS = 32, 32, 1 << 16, 4096
_PARTS = 4

Operands = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def every_decoding() -> Iterator[Call]:
    """The calls of this module."""
    for each in product(HALVES, ("bhsd", "bshd"), WIDTHS, GROUPS):
        yield _of_whole_keys(*each, cut=False)
        yield _of_whole_keys(*each, cut=True)
    for dtype, group in product(HALVES, GROUPS):
        yield _with_tables_of_queries(dtype, group)
        for parts in (1, _PARTS):
            yield _decoding(dtype, group, parts)
    for dtype in HALVES:
        yield _merging(dtype)
        yield replace(
            _of_whole_keys(dtype, "bhsd", NARROW, 1, cut=True),
            options={"merge": True},
            tag=f"{word(dtype)}-d{NARROW}-merge",
            dynamic=(),
            launch=1,
        )


def _of_whole_keys(
    dtype: torch.dtype, layout: str, d: int, group: int, *, cut: bool
) -> Call:
    """Of `attention`. The keys of few heads are cut in parts, those of many are not."""
    heads, sequences = (group, 1) if cut else (_HEADS, _SEQUENCES)

    def rows(count: int, heads: int) -> torch.Tensor:
        middle = (heads, count) if layout == "bhsd" else (count, heads)
        return tensor_of(dtype, sequences, *middle, d)

    def call() -> None:
        keys = rows(_KEYS, heads // group)
        functions.attention(rows(1, heads), keys, keys, layout=layout)

    options = {"layout": layout, "queries": 1, **_shared(group)}
    options |= {"parts": True} if cut else {}
    tag = f"{word(dtype)}-{layout}-d{d}-one" + ("-parts" if cut else "")
    return Call("attention", options, tag + _group(group), call, ("H", "HEADS"))


def _with_tables_of_queries(dtype: torch.dtype, group: int) -> Call:
    def call() -> None:
        starts = tensor_of(torch.int32, _SEQUENCES + 1)
        operands, words = _cache(dtype, group)
        functions.attention_varlen(*operands, starts, starts, max_queries=1, **words)

    options = {"paged": True, "max_queries": 1, **_shared(group)}
    tag = f"{word(dtype)}-d{CHANNELS}-paged-one{_group(group)}"
    return Call("attention_varlen", options, tag, call, ("H", "KVH"))


def _decoding(dtype: torch.dtype, group: int, parts: int) -> Call:
    options = {"paged": True, **_shared(group)} | ({"parts": True} if parts > 1 else {})
    tag = f"{word(dtype)}-d{CHANNELS}-paged" + ("-parts" if parts > 1 else "")
    call = _decode(dtype, group, parts)
    return Call("attention_decode", options, tag + _group(group), call, ("H",))


def _merging(dtype: torch.dtype) -> Call:
    call, tag = _decode(dtype, 1, _PARTS), f"{word(dtype)}-d{CHANNELS}-merge"
    return Call("attention_decode", {"merge": True}, tag, call, (), launch=1)


def _decode(dtype: torch.dtype, group: int, parts: int) -> Any:
    def call() -> None:
        starts = tensor_of(torch.int32, _SEQUENCES + 1)
        operands, words = _cache(dtype, group)
        functions.attention_decode(*operands, starts, splits=parts, **words)

    return call


def _cache(dtype: torch.dtype, group: int) -> tuple[Operands, dict[str, Any]]:
    """Queries, keys and values, and what is said of them."""
    query = tensor_of(dtype, _SEQUENCES, _HEADS, CHANNELS)
    rows = tensor_of(dtype, _SLOTS, _HEADS // group, CHANNELS)
    table = tensor_of(torch.int32, _SLOTS)
    words = {"max_keys": _SLOTS, "table": table, "checked": False}
    return (query, rows, rows), words


def _shared(group: int) -> dict[str, int]:
    return {"group": group} if group > 1 else {}


def _group(group: int) -> str:
    return f"-group{group}" if group > 1 else ""
