"""What is built for parts of layers: embeddings, losses, narrow weights, experts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch

from wave_kernels import functions
from wave_kernels.building.calling import (
    FLOATS,
    HALVES,
    LINEAR,
    ROWS,
    Call,
    tensor_of,
    word,
)

EXPERTS = {
    "8x14336": (8, 2, 4096, 14_336),
    "128x768": (128, 8, 2048, 768),
}
"""Experts, those of a token, channels and hidden channels, of Mixtral 8x7B and Qwen3
30B-A3B. Source: their `config.json`."""

CHANNELS = (64, 128)
"""Of a head."""

GROUP = 128
"""Numbers of 4 bits that share a scale and a zero, as AWQ and GPTQ have them."""


def every_layer() -> Iterator[Call]:
    """The calls of this module; what they leave open the functions do already."""
    for each in (_embeddings, _losses, _narrow, _routes, _experts):
        yield from each()


def _embeddings() -> Iterator[Call]:
    """All channels of heads, of any tokens."""
    for dtype, d in product(FLOATS, CHANNELS):

        def call(dtype: Any = dtype, d: int = d) -> None:
            table = tensor_of(torch.float32, 4096, d // 2)
            functions.rotary_embedding(tensor_of(dtype, 64, 32, d), table, table)

        yield Call("rotary_embedding", {}, f"{word(dtype)}-d{d}", call, ())


def _losses() -> Iterator[Call]:
    """Of rows of any length."""
    for dtype in FLOATS:

        def call(dtype: Any = dtype) -> None:
            targets = tensor_of(torch.int32, 64)
            functions.cross_entropy(tensor_of(dtype, 64, 4096), targets, checked=False)

        yield Call("cross_entropy", {}, word(dtype), call, ())


def _narrow() -> Iterator[Call]:
    """Weights of 4 bits; tiles are for that many rows."""
    for dtype, (n, k), m in product(HALVES, LINEAR, ROWS):

        def call(dtype: Any = dtype, n: int = n, k: int = k, m: int = m) -> None:
            byte = torch.uint8
            functions.matmul_nbits(
                *(tensor_of(dtype, m, k), tensor_of(byte, n, k // 2)),
                tensor_of(dtype, n, k // GROUP),
                zeros=tensor_of(byte, n, k // GROUP),
                group_size=GROUP,
            )

        options = {"bits": 4, "group_size": GROUP, "zeros": True}
        tag = f"{word(dtype)}-u4-g{GROUP}-{n}x{k}-m{m}"
        yield Call("matmul_nbits", options, tag, call, ())


def _routes() -> Iterator[Call]:
    """Which experts tokens go to, and back: logits are f32 there."""
    for tag, (experts, top, width, _) in EXPERTS.items():
        options = {"experts": experts, "top_k": top}

        def route(experts: int = experts, top: int = top) -> None:
            functions.route_tokens(tensor_of(torch.float32, 64, experts), top)

        def group(experts: int = experts, top: int = top) -> None:
            chosen = tensor_of(torch.int32, 64, top)
            functions.group_tokens(chosen, experts, checked=False)

        yield Call("route_tokens", options, tag, route, ())
        yield Call("group_tokens", options, tag, group, ())
        for dtype in HALVES:

            def combine(dtype: Any = dtype, top: int = top, width: int = width) -> None:
                places = tensor_of(torch.int32, 64, top)
                weights = tensor_of(torch.float32, 64, top)
                rows = tensor_of(dtype, 64 * top, width)
                functions.combine_tokens(rows, places, weights, checked=False)

            name = f"{word(dtype)}-{tag}"
            yield Call("combine_tokens", {"top_k": top}, name, combine, ())


def _experts() -> Iterator[Call]:
    """The products of a layer, for few and for many rows of an expert."""
    every = product(EXPERTS.items(), HALVES, ROWS)
    for (tag, (experts, _, width, hidden)), dtype, m in every:

        def up(dtype: Any = dtype, x: Any = (experts, width, 2 * hidden, m)) -> None:
            given = _grouped(dtype, *x)
            rows = tensor_of(torch.int32, x[0] * x[3])
            functions.grouped_swiglu(*given, rows=rows, checked=False)

        def down(dtype: Any = dtype, x: Any = (experts, hidden, width, m)) -> None:
            functions.grouped_matmul(*_grouped(dtype, *x), checked=False)

        name = f"{word(dtype)}-{tag}-m{m}"
        options = {"experts": experts, "rows": True}
        yield Call("grouped_swiglu", options, name, up, ())
        yield Call("grouped_matmul", {"experts": experts}, name, down, ())


def _grouped(dtype: torch.dtype, experts: int, k: int, n: int, m: int) -> Any:
    """Operands of a product for so many rows of each expert."""
    weights = tensor_of(dtype, experts, n, k).mT
    starts = tensor_of(torch.int32, experts + 1)
    return tensor_of(dtype, experts * m, k), weights, starts
