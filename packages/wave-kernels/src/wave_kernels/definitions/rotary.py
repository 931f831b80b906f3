"""Rotary embedding: pairs of a head's channels, turned by angles of their position."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw

if TYPE_CHECKING:
    from wave_core.types import DType

TOKENS = tkl.sym.TOKENS
HEADS = tkl.sym.HEADS
CHANNELS = tkl.sym.CHANNELS
POSITIONS = tkl.sym.POSITIONS
HALF = tkl.sym.HALF
"""Pairs of channels."""

REST = tkl.sym.REST
"""Channels that belong to no pair."""

WAVES = 4

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
_T, _H, _P = (tkw.IndexMapping.iterator(i) for i in range(3))

_STAYS = tkw.IndexMapping(
    3,
    inputs={TOKENS: _T, HEADS: _H, REST: _P},
    outputs={TOKENS: _T, HEADS: _H, CHANNELS: _P + 2 * HALF},
)
_LEFT = tkw.IndexMapping(
    3,
    inputs={TOKENS: _T, HEADS: _H, CHANNELS: _P + 2 * HALF},
    outputs={TOKENS: _T, HEADS: _H, REST: _P},
)


def rotary_kernel(
    dtype: DType = tkl.f32, *, interleaved: bool = False, partial: bool = False
) -> Any:
    """``y = (a cos - b sin, b cos + a sin)`` of each pair of channels ``(a, b)``.

    Pair p is of the channels p and ``p + HALF``, or, where ``interleaved``, of 2p and
    2p + 1. The row of ``cos`` and ``sin`` is the token's position; where there is no
    such row, y is 0. Where ``partial``, there are ``REST`` more channels, which stay.

    Shapes: ``x, y: [TOKENS, HEADS, CHANNELS]``, ``cos, sin: [POSITIONS, HALF]``,
    ``positions: [TOKENS]``; CHANNELS is twice HALF, and REST. Dtypes: ``dtype``,
    computed in f32; cos and sin f32, positions i32. Symbols to bind: CHANNELS, HALF and
    REST, if there is one; the others may be dynamic. Accuracy: 1e-6 of ``abs(a) +
    abs(b)``, and half a unit in the last place of ``dtype``. Source: Su et
    al., RoFormer, 2021.
    """
    first, second = (2 * _P, 2 * _P + 1) if interleaved else (_P, _P + HALF)

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(TOKENS, 1, 0),
            tkw.WorkgroupConstraint(HEADS, WAVES, 1),
            tkw.WaveConstraint(HEADS, 1),
            tkw.HardwareConstraint(),
        ]
    )
    def rotary(
        x: tkl.Memory[TOKENS, HEADS, CHANNELS, _GLOBAL, dtype],
        cos: tkl.Memory[POSITIONS, HALF, _GLOBAL, tkl.f32],
        sin: tkl.Memory[POSITIONS, HALF, _GLOBAL, tkl.f32],
        positions: tkl.Memory[TOKENS, _GLOBAL, tkl.i32],
        y: tkl.Memory[TOKENS, HEADS, CHANNELS, _GLOBAL, dtype],
    ) -> None:
        position = tkw.read(positions)
        turn, rise = _of_position(cos, position), _of_position(sin, position)
        a, b = _channels(x, first), _channels(x, second)
        _put(a * turn - b * rise, y, first, dtype)
        _put(b * turn + a * rise, y, second, dtype)
        if partial:
            tkw.write(tkw.read(x, mapping=_LEFT), y, mapping=_STAYS)

    return rotary


def _channels(x: Any, channel: Any) -> Any:
    """One channel of each pair."""
    found = tkw.IndexMapping(
        3,
        inputs={TOKENS: _T, HEADS: _H, CHANNELS: channel},
        outputs={TOKENS: _T, HEADS: _H, HALF: _P},
    )
    return tkw.cast(tkw.read(x, mapping=found), tkl.f32)


def _put(values: Any, y: Any, channel: Any, dtype: DType) -> None:
    place = tkw.IndexMapping(
        3,
        inputs={TOKENS: _T, HEADS: _H, HALF: _P},
        outputs={TOKENS: _T, HEADS: _H, CHANNELS: channel},
    )
    tkw.write(tkw.cast(values, dtype), y, mapping=place)


def _of_position(table: Any, position: Any) -> Any:
    """A row of a table for each token, the same for its heads."""
    row = tkw.IndexMapping(
        2,
        inputs={POSITIONS: tkw.IndexMapping.dynamic_val(0), HALF: _H},
        outputs={TOKENS: _T, HALF: _H},
        dynamic_val_mappings={TOKENS: _T},
    )
    found = tkw.read(
        table,
        mapping=row,
        mapping_dynamic_vals=(position,),
        bounds={POSITIONS: POSITIONS},
    )
    return tkw.broadcast(found, target_shape=[TOKENS, HEADS, HALF])
