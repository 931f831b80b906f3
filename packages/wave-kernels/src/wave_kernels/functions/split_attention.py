"""Attention of few queries over many keys, split where the GPU would be idle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_kernels.definitions.key_parts import Cut
from wave_kernels.definitions.split_attention import (
    MOST_ROWS,
    split_attention_kernel,
)
from wave_kernels.functions.key_parts import Asked, Filling
from wave_kernels.functions.ragged_calls import power_of_two, room_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from wave_kernels.functions.attention_calls import Call, Sizes

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

FEW_ROWS = 16
"""Rows that every tile has, so that fewer queries take as long."""

_FILLING = Filling(held=4, least=128)

_CHANNELS = 128
"""Of values, whose sums the registers of a wave hold beside queries and keys; scores
of further ones are computed once more."""


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
    tiles = sizes.b * sizes.kvh
    return _FILLING.parts(call.given.first.device, tiles, seen)


def attend_in_parts(call: Call, parts: int, found: torch.Tensor) -> None:
    """Attention of parts, and, where there are several, what merges them."""
    cut = Cut(parts > 1, call.sizes.m, call.what["scoring"].window)
    what = {**call.what, "cut": cut}
    sizes, dynamic = _symbols(call.sizes), ("SEQUENCES", "B", "KEYS")
    kernel = split_attention_kernel, what, "heads"
    Asked(*kernel, sizes, dynamic, call.operands).launch(parts, found)


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
