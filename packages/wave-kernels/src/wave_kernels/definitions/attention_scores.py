"""What is done to the scores of attention before their softmax."""

# Kernels are written in Wave: symbols as types and sizes.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportCallIssue=false

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import e, log2
from operator import and_
from typing import TYPE_CHECKING, Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.attention_tiles import BLOCK_K2, BLOCK_M, K2, M

if TYPE_CHECKING:
    from collections.abc import Callable

MIN_INF = float("-inf")

LOG2_E = log2(e)
"""Scores are multiplied by it, so that powers of 2 are powers of e."""

LOWEST = -3.4028234663852886e38
"""The least f32 that is finite: no score is below it but minus infinity."""


@dataclass(frozen=True)
class Scoring:
    """``scores = cap(scale * q k^T) + bias - slope * distance``, some of them hidden.

    Row m stands at key ``m + offset``, or where rows have turns at
    ``m % turn + offset``; its ``distance`` to a key is how far that is from there.

    Attributes:
        causal: Whether keys behind a query's own place are hidden from it.
        window: Keys of this distance and more are hidden; 0 for none.
        offset: The place of query 0 among the keys, an expression of sizes.
        turn: How many rows stand one behind the other, before the next one, of another
            head, stands where the first does; 0 where all do.
        keys: How many keys there are, an expression of at most `K2`; the others are
            hidden.
        queries: How many queries there are, of at most `M`; others see no key.
        softcap: ``cap(x) = softcap * tanh(x / softcap)``; 0 for no cap.
        bias: The dims of what is added: some of those of the scores, in order, the
            last of them keys. Minus infinity hides a key.
        alibi: Whether each head has a slope.
        complete: Whether rows that see no key are zeros, and scores as low as f32
            goes count. Without it the caller knows better, and a row takes a little
            less.
    """

    causal: bool = False
    window: int = 0
    offset: Any = 0
    turn: int = 0
    keys: Any = K2
    queries: Any = M
    softcap: float = 0.0
    bias: tuple[Any, ...] = ()
    alibi: bool = False
    complete: bool = False

    @property
    def least(self) -> float:
        """Where the greatest score of a row starts from."""
        return LOWEST if self.complete else -1e6

    def seen(self) -> dict[str, Any]:
        """The tiles of keys that some query of a workgroup may see, of `spread`."""
        first = tkw.WORKGROUP_0 * BLOCK_M + self.offset
        end = (tkw.WORKGROUP_0 + 1) * BLOCK_M + self.offset
        tiles = sympy.ceiling(self.keys / BLOCK_K2)
        if self.causal or self.window:
            end += 0 if self.causal else self.window - 1
            tiles = sympy.Min(tiles, sympy.ceiling(end / BLOCK_K2))
        elif self.keys == K2:
            return {}
        if not self.window:
            return {"iters": sympy.Max(tiles, 0) if self.complete else tiles}
        skipped = sympy.Max((first - self.window + 1) // BLOCK_K2, 0)
        return {
            "start": skipped * BLOCK_K2,
            "iters": sympy.Max(tiles - skipped, 0),
        }

    @property
    def growing(self) -> bool:
        """Whether a query sees all keys that those before it see, and more."""
        return self.causal and not self.window

    def seeing(self) -> dict[str, Any]:
        """The tiles of queries that may see some key of a workgroup, of `spread`."""
        tiles = sympy.ceiling(self.queries / BLOCK_M)
        if self.keys != K2:
            left = self.keys - tkw.WORKGROUP_0 * BLOCK_K2
            tiles *= sympy.Min(1, sympy.Max(0, left))
        if not self.causal and not self.window:
            return {} if self.queries == M else {"iters": tiles}
        first = tkw.WORKGROUP_0 * BLOCK_K2 - self.offset
        if self.window:
            end = first + BLOCK_K2 + self.window - 1
            tiles = sympy.Min(tiles, sympy.ceiling(end / BLOCK_M))
        if not self.causal:
            first -= self.window - 1
        skipped = sympy.Max(first // BLOCK_M, 0)
        return {"start": skipped * BLOCK_M, "iters": sympy.Max(tiles - skipped, 0)}

    def finished(
        self,
        scores: Any,
        dims: tuple[Any, ...],
        slopes: Any,
        added: Callable[[], Any] | None = None,
    ) -> Any:
        """The scores, of ``dims``, times `LOG2_E`.

        ``slopes`` is a register of one number a head, ``added`` reads the bias; they
        are not looked at where there are none.
        """
        if self.softcap:
            cap = tkl.Register[*dims, tkl.f32](self.softcap * LOG2_E)
            inverse = tkl.Register[*dims, tkl.f32](1 / (self.softcap * LOG2_E))
            scores = tkw.tanh(scores * inverse) * cap
        if self.bias and added:
            bias = tkw.cast(added(), tkl.f32)
            bias *= tkl.Register[*self.bias, tkl.f32](LOG2_E)
            scores += tkw.broadcast(bias, target_shape=[*dims])
        if self.alibi:
            far = tkw.broadcast(self._distance(), target_shape=[*dims])
            scores -= tkw.broadcast(slopes, target_shape=[*dims]) * far
        return scores

    def steepness(self, scores: Any, dims: tuple[Any, ...]) -> Any:
        """How fast capped scores grow with these, which are not capped yet."""
        one = tkl.Register[*dims, tkl.f32](1.0)
        if not self.softcap:
            return one
        inverse = tkl.Register[*dims, tkl.f32](1 / (self.softcap * LOG2_E))
        bent = tkw.tanh(scores * inverse)
        return one - bent * bent

    def hidden(self, scores: Any, *masks: Any) -> Any:
        """Scores, and minus infinity where a key is hidden, or a mask is false."""
        key = _over_keys(tkw.self_index(K2, tkl.i32))
        seen = [*masks, *([self._place(0) >= key] if self.causal else [])]
        if self.window:
            seen.append(self._place(-self.window) < key)
        if self.window and not self.causal:
            seen.append(self._place(self.window) > key)
        if self.keys != K2:
            seen.append(tkw.apply_expr(key, lambda k: k < self.keys))
        if self.queries != M:
            own = _over_keys(tkw.self_index(M, tkl.i32))
            seen.append(tkw.apply_expr(own, lambda m: m < self.queries))
        if not seen:
            return scores
        mask = reduce(and_, seen)
        return tkw.select(mask, scores, tkl.Register[M, K2, tkl.f32](MIN_INF))

    def _distance(self) -> Any:
        """How far each key is from each query's place, f32."""
        key = _over_keys(tkw.self_index(K2, tkl.i32))
        return tkw.cast(tkw.abs(self._place(0) - key), tkl.f32)

    def _place(self, beyond: int) -> Any:
        """The number of the key that lies so far beyond each query's place."""
        own = tkw.self_index(M, tkl.i32)
        if self.turn:
            own = tkw.apply_expr(own, lambda m: m % self.turn)
        if (beyond := beyond + self.offset) != 0:
            own = tkw.apply_expr(own, lambda m: m + beyond)
        return _over_keys(own)


def _over_keys(numbers: Any) -> Any:
    """The same for each query and key."""
    return tkw.broadcast(numbers, target_shape=[M, K2])


PLAIN = Scoring()
"""Every query sees every key."""
