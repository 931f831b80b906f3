"""Attention over heads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.attention import Heads, head_attention_kernel
from wave_kernels.definitions.attention_scores import LOG2_E, Scoring
from wave_kernels.definitions.attention_tiles import K2, B, H, M
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.launches import DTYPES, launch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.types import DType

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

HALVES = (torch.float16, torch.bfloat16)
"""What matrix units take, and powers are rounded to."""

WIDEST = 256
"""Channels of a head: a wave holds those of its queries."""

LAYOUTS = ("bhsd", "bshd")


def attention(  # noqa: PLR0913 - one word for each variant
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    bias: torch.Tensor | None = None,
    slopes: torch.Tensor | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    layout: str = "bhsd",
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``softmax(scores) value``, where nothing hides all keys of a query.

    ``scores = cap(scale * query key^T) + bias - slopes * distance``. The last query
    stands at the last key: query m of M is at key ``m + S - M`` of S, as in
    FlashAttention 2, and as `torch.nn.attention.bias.causal_lower_right` has it, while
    ``is_causal=True`` of torch puts query 0 at key 0. ``distance`` is how far a key is
    from there.

    Args:
        query: ``[B, H, M, D]``, float16 or bfloat16; D at most 256.
        key: ``[B, KVH, S, D]``, of query's type. KVH divides H: equally many heads of
            queries, one after the other, share a head of keys and values.
        value: ``[B, KVH, S, DV]``, of query's type.
        causal: Whether a query sees no key behind its place.
        window: How many keys a query sees on each side, its own place among them.
        bias: Added to scores, ``[B, H, M, S]`` or what broadcasts to it, of query's
            type; minus infinity hides a key.
        slopes: ``[H]``, float32: ALiBi.
        softcap: ``cap(x) = softcap * tanh(x / softcap)``.
        scale: ``1 / sqrt(D)`` by default.
        layout: ``bshd`` where heads come behind the sequence, of all of query, key,
            value and the result.
        out: Takes the result, of query's shape with DV channels, and query's type.

    Returns:
        ``[B, H, M, DV]``. Queries that see no key, or only scores of minus infinity,
        are zeros, as in torch. Accuracy: 1e-3 of the largest value in float16, 8e-3 in
        bfloat16, to which powers are rounded, and half a unit in the last place. A NaN
        or infinity among what a query sees makes of its result what torch makes of it;
        one among values of keys that are hidden may do so too.

        For each set of sizes and numbers a kernel is compiled, once.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import attention
        >>> rows = torch.eye(2, dtype=torch.float16).view(1, 1, 2, 2)
        >>> attention(rows, rows, rows, causal=True, scale=0.0)
        tensor([[[[1.0000, 0.0000],
                  [0.5000, 0.5000]]]], dtype=torch.float16)
    """
    given = Arguments.of("attention", "query", query, HALVES)
    sizes = _sizes(given, query, key, value, layout)
    scoring = scoring_of(given, window, softcap)
    found = given.result(out, sizes.output, query.dtype)
    operands = sizes.fitting(given, query=query, key=key, value=value)
    if bias is not None:
        added, dims = _bias(given, bias, sizes)
        scoring = replace(scoring, bias=dims)
        operands.append(added)
    if slopes is not None:
        operands.append(given.tensor("slopes", slopes, (sizes.h,), torch.float32))
    if not found.numel() or not sizes.keys:
        return found.zero_()
    what = {
        "scale": (sizes.d**-0.5 if scale is None else float(scale)) * LOG2_E,
        "heads": sizes.heads(DTYPES[query.dtype]),
        "scoring": replace(scoring, causal=causal, alibi=slopes is not None),
    }
    launch(head_attention_kernel, what, sizes.symbols, (*operands, found))
    return found


@dataclass(frozen=True)
class _Sizes:
    """Of one call; ``keys`` are those of a sequence."""

    layout: str
    b: int
    h: int
    kvh: int
    m: int
    keys: int
    d: int
    dv: int

    def _of(self, heads: int, rows: int, channels: int) -> tuple[int, ...]:
        middle = (heads, rows) if self.layout == "bhsd" else (rows, heads)
        return (self.b, *middle, channels)

    @property
    def query(self) -> tuple[int, ...]:
        return self._of(self.h, self.m, self.d)

    @property
    def key(self) -> tuple[int, ...]:
        return self._of(self.kvh, self.keys, self.d)

    @property
    def value(self) -> tuple[int, ...]:
        return self._of(self.kvh, self.keys, self.dv)

    @property
    def output(self) -> tuple[int, ...]:
        return self._of(self.h, self.m, self.dv)

    def fitting(self, given: Arguments, **tensors: torch.Tensor) -> list[torch.Tensor]:
        """Tensors by the names that they have here, seen to have these sizes."""
        return [given.tensor(n, t, getattr(self, n)) for n, t in tensors.items()]

    def heads(self, dtype: DType) -> Heads:
        """How they lie in memory, all of one type."""
        return Heads(self.layout, self.h // self.kvh, dtype, dtype)

    @property
    def symbols(self) -> Mapping[str, int]:
        """By the names that the kernel has for them; one head a workgroup."""
        found = {"B": self.b, "H": self.h, "M": self.m, "K2": self.keys}
        found |= {"K1": self.d, "N": self.dv, "BLOCK_B": 1, "BLOCK_H": 1}
        return found if self.kvh == self.h else {**found, "KVH": self.kvh}


def _sizes(given: Arguments, query: Any, key: Any, value: Any, layout: str) -> _Sizes:
    """What the shapes say, before they are compared with each other."""
    if layout not in LAYOUTS:
        given.refuse("WV0707", f"`layout` is {layout!r}", "it is bhsd or bshd")
    shapes = {
        name: shape_of(given, name, tensor, layout)
        for name, tensor in (("query", query), ("key", key), ("value", value))
    }
    head, row = layout.index("h"), layout.index("s")
    b, h, m, d = (shapes["query"][i] for i in (0, head, row, 3))
    kvh, keys = (shapes["key"][i] for i in (head, row))
    dv = shapes["value"][3]
    check_heads(given, h, kvh, d, dv)
    return _Sizes(layout, b, h, kvh, m, keys, d, dv)


def check_heads(given: Arguments, h: int, kvh: int, d: int, dv: int) -> None:
    """See that groups of heads share keys, and that a wave can hold channels.

    Raises:
        LaunchError: WV0707 where that is not so.
    """
    for name, channels, least in (("query", d, 1), ("value", dv, 0)):
        if not least <= channels <= WIDEST:
            what = f"heads of `{name}` have {channels} channels"
            given.refuse("WV0707", what, f"they can have {least} to {WIDEST}")
    if h and (not kvh or h % kvh):
        what = f"`key` has {kvh} heads, `query` {h}"
        given.refuse("WV0707", what, "the heads of keys divide those of queries")


def scoring_of(given: Arguments, window: int | None, softcap: float | None) -> Scoring:
    """What is compiled into the kernel; the last query stands at the last key.

    Raises:
        LaunchError: WV0707 for a window or a cap that is no positive number.
    """
    if window is not None and window < 1:
        advice = "a query sees at least the key at its place: 1, or more"
        given.refuse("WV0707", f"`window` is {window}", advice)
    if softcap is not None and not softcap > 0:
        given.refuse("WV0707", f"`softcap` is {softcap}", "give a number above 0")
    return Scoring(
        window=window or 0, offset=K2 - M, softcap=softcap or 0.0, complete=True
    )


def _bias(
    given: Arguments, bias: Any, sizes: _Sizes
) -> tuple[torch.Tensor, tuple[Any, ...]]:
    """The bias without the dims along which it is the same, and the dims it has."""
    whole = (sizes.b, sizes.h, sizes.m, sizes.keys)
    shape = tuple(bias.shape) if isinstance(bias, torch.Tensor) else whole
    padded = (1,) * (4 - len(shape)) + shape
    fits = len(padded) == 4 and all(
        n in (1, size) for n, size in zip(padded, whole, strict=True)
    )
    tensor = given.tensor("bias", bias, shape if fits else whole)
    kept = [n == size for n, size in zip(padded, whole, strict=True)]
    kept[3] = True
    tensor = tensor.view(padded).expand(*padded[:3], sizes.keys)
    dims = tuple(dim for dim, stays in zip((B, H, M, K2), kept, strict=True) if stays)
    extents = [n for n, stays in zip(tensor.shape, kept, strict=True) if stays]
    return tensor.reshape(extents), dims
