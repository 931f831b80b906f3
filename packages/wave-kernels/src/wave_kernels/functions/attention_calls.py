"""What calls of attention over heads have in common: sizes, variants, refusals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.attention import Heads
from wave_kernels.definitions.attention_scores import LOG2_E, Scoring
from wave_kernels.definitions.attention_tiles import K2, B, H, M
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.launches import DTYPES
from wave_kernels.functions.options import flag, real, whole, word

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


@dataclass(frozen=True)
class Variant:
    """The arguments of `attention` that say what is done to scores, and where."""

    causal: bool
    window: int | None
    bias: torch.Tensor | None
    slopes: torch.Tensor | None
    softcap: float | None
    scale: float | None
    layout: str


@dataclass(frozen=True)
class Call:
    """One call, seen to fit.

    Attributes:
        given: Refuses what does not.
        sizes: What the shapes say.
        operands: Queries, keys, values, then bias and slopes where there are any.
        what: What kernels are asked for.
    """

    given: Arguments
    sizes: Sizes
    operands: tuple[torch.Tensor, ...]
    what: Mapping[str, Any]

    @classmethod
    def of(
        cls, function: str, query: Any, key: Any, value: Any, variant: Variant
    ) -> Call:
        """The call of a function with these.

        Raises:
            LaunchError: WV0704 to WV0708, WV0714 for arguments that do not fit.
        """
        given = Arguments.of(function, "query", query, HALVES)
        sizes = _sizes(given, query, key, value, variant.layout)
        scoring = scoring_of(
            given, variant.window, variant.softcap, causal=variant.causal
        )
        if sizes.m == 1:
            # It stands at the last key: there is none behind it to hide.
            scoring = replace(scoring, causal=False)
        rows = sizes.fitting(given, query=query, key=key, value=value)
        added, scoring = _added(given, variant, sizes, scoring)
        what = {
            "scale": factor_of(given, variant.scale, sizes.d),
            "heads": sizes.heads(DTYPES[query.dtype]),
            "scoring": scoring,
        }
        return cls(given, sizes, (*rows, *added), what)


def _added(
    given: Arguments, variant: Variant, sizes: Sizes, scoring: Scoring
) -> tuple[list[torch.Tensor], Scoring]:
    """Bias and slopes, where there are any, and the scores that have them."""
    found: list[torch.Tensor] = []
    if variant.bias is not None:
        added, dims = _bias(given, variant.bias, sizes)
        scoring = replace(scoring, bias=dims)
        found.append(added)
    if variant.slopes is not None:
        scoring = replace(scoring, alibi=True)
        slopes = given.tensor("slopes", variant.slopes, (sizes.h,), torch.float32)
        found.append(slopes)
    return found, scoring


@dataclass(frozen=True)
class Sizes:
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
        """Of queries, in the layout."""
        return self._of(self.h, self.m, self.d)

    @property
    def key(self) -> tuple[int, ...]:
        """Of keys, in the layout."""
        return self._of(self.kvh, self.keys, self.d)

    @property
    def value(self) -> tuple[int, ...]:
        """Of values, in the layout."""
        return self._of(self.kvh, self.keys, self.dv)

    @property
    def output(self) -> tuple[int, ...]:
        """Of the result, in the layout."""
        return self._of(self.h, self.m, self.dv)

    @property
    def sums(self) -> tuple[int, ...]:
        """Of the sums of powers of each row, in either layout."""
        return (self.b, self.h, self.m)

    @property
    def group(self) -> int:
        """How many heads of queries share one of keys."""
        return self.h // max(self.kvh, 1)

    def apart(self, shared: torch.Tensor) -> tuple[int, ...]:
        """The shape of what each head of queries adds to a tensor of shared ones."""
        rows, channels = self.keys, shared.shape[-1]
        return self._of(self.h, rows, channels)

    def together(self, apart: torch.Tensor) -> torch.Tensor:
        """The sums of what heads that share one of keys add."""
        head = self.layout.index("h")
        shape = list(self._of(self.kvh, self.keys, apart.shape[-1]))
        shape.insert(head + 1, self.group)
        return apart.view(shape).sum(head + 1)

    def fitting(self, given: Arguments, **tensors: torch.Tensor) -> list[torch.Tensor]:
        """Tensors by the names that they have here, seen to have these sizes."""
        return [given.tensor(n, t, getattr(self, n)) for n, t in tensors.items()]

    def heads(self, dtype: DType) -> Heads:
        """How they lie in memory, all of one type."""
        return Heads(self.layout, self.group, dtype, dtype)

    @property
    def symbols(self) -> Mapping[str, int]:
        """By the names that the kernel has for them; one head a workgroup."""
        found = {"B": self.b, "H": self.h, "M": self.m, "K2": self.keys}
        found |= {"K1": self.d, "N": self.dv, "BLOCK_B": 1, "BLOCK_H": 1}
        return found if self.kvh == self.h else {**found, "KVH": self.kvh}


def _sizes(given: Arguments, query: Any, key: Any, value: Any, layout: str) -> Sizes:
    """What the shapes say, before they are compared with each other."""
    word(given, "layout", layout, LAYOUTS)
    shapes = {
        name: shape_of(given, name, tensor, layout)
        for name, tensor in (("query", query), ("key", key), ("value", value))
    }
    head, row = layout.index("h"), layout.index("s")
    b, h, m, d = (shapes["query"][i] for i in (0, head, row, 3))
    kvh, keys = (shapes["key"][i] for i in (head, row))
    dv = shapes["value"][3]
    check_heads(given, h, kvh, d, dv)
    return Sizes(layout, b, h, kvh, m, keys, d, dv)


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


def scoring_of(
    given: Arguments,
    window: int | None,
    softcap: float | None,
    *,
    causal: bool = False,
) -> Scoring:
    """What is compiled into the kernel; the last query stands at the last key.

    Raises:
        LaunchError: WV0704 for what is no number, or no flag; WV0707 for a window or a
            cap that is not positive.
    """
    # A query sees at least the key at its place.
    width = 0 if window is None else whole(given, "window", window, 1)
    cap = 0.0 if softcap is None else real(given, "softcap", softcap)
    if softcap is not None and not cap > 0:
        given.refuse("WV0707", f"`softcap` is {cap}", "give a number above 0")
    causal = flag(given, "causal", causal)
    return Scoring(causal, width, offset=K2 - M, softcap=cap, complete=True)


def factor_of(given: Arguments, scale: float | None, channels: int) -> float:
    """What scores are multiplied by, for powers of two.

    Raises:
        LaunchError: WV0704 for what is no number.
    """
    factor = channels**-0.5 if scale is None else real(given, "scale", scale)
    return factor * LOG2_E


def _bias(
    given: Arguments, bias: Any, sizes: Sizes
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
