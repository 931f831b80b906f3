"""What is built: calls of the functions, as people would write them.

Each is made once with tensors that have shapes and no memory; what the functions ask
for is compiled, with the sizes that differ from call to call left to the launch. A new
function needs rows here, or in `layers`, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch

from wave_kernels import functions
from wave_kernels.building.calling import (
    FLOATS,
    HALVES,
    LENGTHS,
    LINEAR,
    ROWS,
    Call,
    tensor_of,
    word,
)
from wave_kernels.building.decoding import every_decoding
from wave_kernels.building.layers import every_layer


def every_call() -> tuple[Call, ...]:
    """All that a whole library has, in the order of their names."""
    rows = (
        _rows,
        _any_rows,
        _products,
        _linear,
        _attention,
        every_decoding,
        every_layer,
    )
    found = [call for each in rows for call in each()]
    return tuple(sorted(found, key=lambda call: call.name))


def _rows() -> Iterator[Call]:
    vectors = {"softmax": 0, "rms_norm": 1, "layer_norm": 2}
    for (name, count), dtype, length in product(vectors.items(), FLOATS, LENGTHS):

        def call(
            name: str = name, count: int = count, x: Any = (dtype, length)
        ) -> None:
            columns = [tensor_of(*x) for _ in range(count)]
            getattr(functions, name)(tensor_of(x[0], 4096, x[1]), *columns)

        yield Call(name, {}, f"{word(dtype)}-{length}", call, ("M",))


def _any_rows() -> Iterator[Call]:
    """Of any sizes, all of which come with the launch."""
    for dtype, activation in product(FLOATS, ("silu", "gelu")):

        def gate(dtype: Any = dtype, activation: str = activation) -> None:
            functions.gated_activation(tensor_of(dtype, 64, 2048), activation)

        tag = f"{word(dtype)}-{activation}"
        yield Call("gated_activation", {"activation": activation}, tag, gate, ())
    for dtype in FLOATS:

        def pick(dtype: Any = dtype) -> None:
            indices = tensor_of(torch.int32, 64)
            functions.gather_rows(tensor_of(dtype, 1024, 1024), indices, checked=False)

        yield Call("gather_rows", {}, word(dtype), pick, ())


def _products() -> Iterator[Call]:
    """Of any sizes."""
    endings = (("", False), ("", True), ("silu", False), ("gelu", True))
    for dtype, layout, (activation, bias) in product(HALVES, ("NN", "NT"), endings):
        yield _product(dtype, layout, activation, bias=bias)
    for dtype, layout in product(HALVES, ("NN", "NT")):
        yield _batched(dtype, layout)


def _product(dtype: torch.dtype, layout: str, activation: str, *, bias: bool) -> Call:
    def call() -> None:
        added = tensor_of(dtype, 512) if bias else None
        second = _second(dtype, layout, 512, 512)
        functions.matmul(
            tensor_of(dtype, 512, 512), second, bias=added, activation=activation
        )

    words = {"activation": activation} if activation else {}
    options = {"layout": layout, **words, **({"bias": True} if bias else {})}
    ending = [each for each in (activation, "bias" if bias else "") if each]
    tag = "-".join([word(dtype), layout.lower(), *ending])
    return Call("matmul", options, tag, call, ("M", "N", "K"))


def _linear() -> Iterator[Call]:
    """Of layers, whose weights have these sizes; tiles are for that many rows."""
    for dtype, (n, k), m in product(HALVES, LINEAR, ROWS):

        def call(dtype: Any = dtype, m: int = m, n: int = n, k: int = k) -> None:
            functions.matmul(tensor_of(dtype, m, k), _second(dtype, "NT", k, n))

        tag = f"{word(dtype)}-nt-{n}x{k}-m{m}"
        yield Call("matmul", {"layout": "NT"}, tag, call, ("M",), tuned=True)


def _batched(dtype: torch.dtype, layout: str) -> Call:
    def call() -> None:
        right = _second(dtype, layout, 1024, 1024, batch=8)
        functions.matmul(tensor_of(dtype, 8, 1024, 1024), right)

    options = {"layout": layout, "batched": True}
    tag = f"{word(dtype)}-{layout.lower()}-batched"
    return Call("matmul", options, tag, call, ("B", "M", "N", "K"))


def _second(dtype: torch.dtype, layout: str, k: int, n: int, batch: int = 0) -> Any:
    lead = (batch,) if batch else ()
    if layout == "NN":
        return tensor_of(dtype, *lead, k, n)
    return tensor_of(dtype, *lead, n, k).mT


def _attention() -> Iterator[Call]:
    every = product(HALVES, ("bhsd", "bshd"), (64, 128), (1, 4, 8), (False, True))
    for dtype, layout, d, group, causal in every:

        def call(
            dtype: Any = dtype, layout: Any = layout, x: Any = (d, group, causal)
        ) -> None:
            d, group, causal = x
            q, k = (
                tensor_of(dtype, 2, *((h, 4096) if layout == "bhsd" else (4096, h)), d)
                for h in (32, 32 // group)
            )
            functions.attention(q, k, k, causal=causal, layout=layout)

        words = {"causal": True} if causal else {}
        shared = {"group": group} if group > 1 else {}
        tag = f"{word(dtype)}-{layout}-d{d}" + ("-causal" if causal else "")
        tag += f"-group{group}" if group > 1 else ""
        options = {"layout": layout, **words, **shared}
        dynamic = ("B", "H", "KVH", "M", "K2")
        yield Call("attention", options, tag, call, dynamic, tuned=True)
