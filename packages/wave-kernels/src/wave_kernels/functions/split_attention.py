"""Attention of few queries over many keys, split where the GPU would be idle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.split_attention import (
    MOST_ROWS,
    STEP,
    Cut,
    split_attention_kernel,
)
from wave_kernels.functions.decode_attention import merge, power_of_two
from wave_kernels.functions.launches import DTYPES, compute_units, launch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_kernels.functions.attention_calls import Call, Sizes

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

FEW_ROWS = 16
"""Queries of heads that share keys, of which a tile has no more than it can have."""

_LEAST = 128
"""Keys of a part: with fewer, merging costs as much as it saves."""

_CHANNELS = 128
"""Of values, whose sums the registers of a wave hold beside queries and keys; scores
of further ones are computed once more."""

_HELD = 4
"""Workgroups that a compute unit should have."""


@dataclass(frozen=True)
class Parts:
    """How the keys that queries see are cut: in so many parts of ``share`` at most."""

    count: int
    share: int
    even: bool


def parts_of(call: Call) -> Parts | None:
    """How keys are cut for a call of `attention`; ``None`` where queries are many.

    Tiles have the queries of all heads that share keys. With few of these keys are read
    once for all, cut or not; else it pays only where parts fill the GPU.
    """
    sizes, scoring = call.sizes, call.what["scoring"]
    rows = sizes.group * sizes.m
    seen = sizes.keys
    if scoring.window:
        seen = min(seen, sizes.m + scoring.window - 1)
    if rows > MOST_ROWS or seen < 2 * _LEAST:
        return None
    wanted = _HELD * compute_units(call.given.first.device) // (sizes.b * sizes.kvh)
    count = min(max(wanted, 1), seen // _LEAST)
    if count == 1 and (rows > FEW_ROWS or sizes.group == 1):
        return None
    share = -(-seen // (count * STEP)) * STEP
    return Parts(count, share, count * share == seen)


def attend_in_parts(call: Call, parts: Parts, found: torch.Tensor) -> None:
    """Attention of parts, and, where there are several, what merges them."""
    cut = Cut(parts.count, parts.even, call.sizes.m)
    what = {**call.what, "cut": cut}
    symbols = _symbols(call.sizes, parts)
    if parts.count == 1:
        launch(split_attention_kernel, what, symbols, (*call.operands, found))
        return
    rows = (call.sizes.b, parts.count, *found.shape[1:])
    each = found.new_empty(rows, dtype=torch.float32)
    sums = found.new_empty(rows[:-1], dtype=torch.float32)
    what["heads"] = replace(call.what["heads"], result=DTYPES[torch.float32])
    operands = (*call.operands, each.flatten(0, 1), sums.flatten(0, 1))
    launch(split_attention_kernel, what, symbols, operands)
    merge(each.flatten(2, 3), sums.flatten(2, 3), found.flatten(1, 2))


def _symbols(sizes: Sizes, parts: Parts) -> Mapping[str, Any]:
    """By the names that the kernel has for them; one head of keys a workgroup."""
    return {
        "SEQUENCES": sizes.b,
        "B": sizes.b * parts.count,
        "H": sizes.kvh,
        "HEADS": sizes.h,
        "QUERIES": sizes.m,
        "M": sizes.group * sizes.m,
        "KEYS": sizes.keys,
        "K2": parts.share,
        "K1": sizes.d,
        "N": sizes.dv,
        "BLOCK_B": 1,
        "BLOCK_H": 1,
        "BLOCK_N": min(max(power_of_two(sizes.dv), 16), _CHANNELS),
    }
