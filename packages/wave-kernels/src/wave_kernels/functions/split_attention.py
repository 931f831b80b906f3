"""Attention of few queries over many keys, split where the GPU would be idle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.split_attention import (
    MOST_ROWS,
    STEP,
    Cut,
    split_attention_kernel,
)
from wave_kernels.functions.decode_attention import merge
from wave_kernels.functions.launches import DTYPES, compute_units, launch
from wave_kernels.functions.ragged_calls import power_of_two, room_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_kernels.functions.attention_calls import Call, Sizes

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

FEW_ROWS = 16
"""Rows that every tile has, so that fewer queries take as long."""

_LEAST = 128
"""Keys of a part: with fewer, merging costs as much as it saves."""

_CHANNELS = 128
"""Of values, whose sums the registers of a wave hold beside queries and keys; scores
of further ones are computed once more."""

_HELD = 4
"""Workgroups that a compute unit should have."""


def parts_of(call: Call) -> int:
    """In how many parts keys are cut for a call of `attention`.

    Tiles have the queries of all heads that share keys. 0 where these are more than a
    tile has, and where many of them attend to themselves: these grow with the keys.
    """
    sizes, scoring = call.sizes, call.what["scoring"]
    rows = sizes.group * sizes.m
    if rows > MOST_ROWS or (rows > FEW_ROWS and sizes.m == sizes.keys):
        return 0
    seen = sizes.keys
    if scoring.window:
        seen = min(seen, sizes.m + scoring.window - 1)
    wanted = _HELD * compute_units(call.given.first.device) // (sizes.b * sizes.kvh)
    steps = -(-seen // STEP)
    count = max(min(wanted, seen // _LEAST), 1)
    return -(-steps // -(-steps // count))


def attend_in_parts(call: Call, parts: int, found: torch.Tensor) -> None:
    """Attention of parts, and, where there are several, what merges them."""
    cut = Cut(parts > 1, call.sizes.m)
    what = {**call.what, "cut": cut}
    symbols, dynamic = _symbols(call.sizes), ("SEQUENCES", "B", "KEYS")
    if not cut.parts:
        launch(split_attention_kernel, what, symbols, (*call.operands, found), dynamic)
        return
    rows = (call.sizes.b, parts, *found.shape[1:])
    each = found.new_empty(rows, dtype=torch.float32)
    sums = found.new_empty(rows[:-1], dtype=torch.float32)
    what["heads"] = replace(call.what["heads"], result=DTYPES[torch.float32])
    operands = (*call.operands, each.flatten(0, 1), sums)
    launch(split_attention_kernel, what, symbols, operands, (*dynamic, "SPLIT"))
    merge(each.flatten(2, 3), sums.flatten(2, 3), found.flatten(1, 2))


def _symbols(sizes: Sizes) -> Mapping[str, Any]:
    """Those that do not differ by launch; one head of keys a workgroup."""
    return {
        "H": sizes.kvh,
        "HEADS": sizes.h,
        "QUERIES": sizes.m,
        "M": sizes.group * sizes.m,
        "K2": room_for(sizes.keys),
        "K1": sizes.d,
        "N": sizes.dv,
        "BLOCK_B": 1,
        "BLOCK_H": 1,
        "BLOCK_N": min(max(power_of_two(sizes.dv), 16), _CHANNELS),
    }
