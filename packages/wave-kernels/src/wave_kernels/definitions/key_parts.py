"""How the keys of few queries are spread: a sequence has one workgroup, or several.

With few sequences and long caches there are fewer tiles of queries than a GPU holds:
then the keys of each sequence are cut in parts, a workgroup takes one, and
`merge_kernel` weighs what the parts give by the logarithms of their sums.
"""

# Kernels are written in Wave: symbols as types and sizes.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.attention_tiles import B, H

if TYPE_CHECKING:
    from wave_kernels.definitions.attention_scores import Scoring

SEQUENCES, HEADS = tkl.sym.SEQUENCES, tkl.sym.HEADS
"""Of all queries, and the heads of these."""

QUERIES, KEYS = tkl.sym.QUERIES, tkl.sym.KEYS
"""Of a sequence; where lengths differ, of that of a workgroup."""

SPLIT = tkl.sym.SPLIT
"""Parts of a sequence."""

STEP = 64
"""Keys that parts have a multiple of, but for the last, whatever the tile."""

LEAD = (B, H)


@dataclass(frozen=True)
class Cut:
    """Which keys a workgroup has.

    Attributes:
        parts: Whether those keys of a sequence that some query sees are cut in
            ``SPLIT`` parts, each of so many times `STEP` as the others, but for the
            last ones, which have fewer, or none.
        queries: Of a sequence; the last stands at the last key.
        window: How many keys a query sees on each side, its own place among them; 0
            for all.
    """

    parts: bool = False
    queries: int = 1
    window: int = 0

    @property
    def splits(self) -> Any:
        """How many workgroups share a sequence."""
        return SPLIT if self.parts else 1

    @property
    def first(self) -> Any:
        """The first key of a workgroup's part, among those of its sequence."""
        if not self.parts:
            return self._unseen
        return self._unseen + tkw.WORKGROUP_2 % SPLIT * self._share

    @property
    def keys(self) -> Any:
        """How many keys a workgroup's part has."""
        left = KEYS - self.first
        if not self.parts:
            return left
        return sympy.Max(sympy.Min(left, self._share), 0)

    @property
    def _unseen(self) -> Any:
        """How many keys of a sequence no query sees, its first ones."""
        before = KEYS - self.queries - self.window + 1
        return sympy.Max(before, 0) if self.window else 0

    @property
    def _share(self) -> Any:
        """How many keys a part has, but for the last ones."""
        return sympy.ceiling((KEYS - self._unseen) / (SPLIT * STEP)) * STEP

    def scoring(self, asked: Scoring) -> Scoring:
        """What is done to a part's scores."""
        offset = KEYS - self.queries - self.first
        own = replace(asked, offset=offset, turn=self.queries, complete=True)
        own = replace(own, keys=self.keys)
        # One query stands at the last key, and sees whatever its window leaves.
        return own if self.queries > 1 else replace(own, causal=False, window=0)


WHOLE = Cut()
"""One query sees all keys of its sequence, in one workgroup."""
