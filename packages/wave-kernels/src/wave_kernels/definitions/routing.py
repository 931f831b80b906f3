"""Which experts a token goes to, and where its rows stand when experts have theirs."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportInvalidTypeForm=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.groups import ENDS, E
from wave_kernels.definitions.softmax import LOG2_E

if TYPE_CHECKING:
    from wave_core.types import DType

TOKENS = tkl.sym.TOKENS
CHOICES = tkl.sym.CHOICES
"""Experts of a token."""

PAIRS = tkl.sym.PAIRS
"""Of a token and one of its experts: as many as tokens times choices."""

BLOCK_PAIRS = 1024
"""Pairs that a wave looks at at a time."""

SCORES = ("softmax", "sigmoid")
"""What makes weights of logits."""

_GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


def route_kernel(
    dtype: DType = tkl.f32, scores: str = "softmax", *, normalised: bool = True
) -> Any:
    """The ``CHOICES`` experts of the greatest logits of each token, and their weights.

    Both scores grow with the logit, so logits themselves are compared: of equal ones
    the expert with the lower number comes first, and NaN is greater than all. Where
    ``normalised`` weights are divided by their sum; of softmax, that is the softmax of
    the logits that are chosen.

    Shapes: ``logits: [TOKENS, E]``, ``weights, experts: [TOKENS, CHOICES]``. Dtypes:
    ``dtype``, computed in f32; weights f32, experts i32. A wave holds a row whole:
    ``E`` and ``CHOICES`` must be bound, ``TOKENS`` may be dynamic. Accuracy: 1e-5 of
    each weight that is larger than 1e-30.
    """

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(TOKENS, 4, 0),
            tkw.WaveConstraint(TOKENS, 1),
            tkw.HardwareConstraint(),
        ]
    )
    def route(
        logits: tkl.Memory[TOKENS, E, _GLOBAL, dtype],
        weights: tkl.Memory[TOKENS, CHOICES, _GLOBAL, tkl.f32],
        experts: tkl.Memory[TOKENS, CHOICES, _GLOBAL, tkl.i32],
    ) -> None:
        row = tkw.cast(tkw.read(logits), tkl.f32)
        chosen, numbers = tkw.topk(row, CHOICES, dim=E)
        found = tkw.sigmoid(chosen)
        if scores == "softmax":
            most = tkw.max(row, dim=E)
            found = _power(chosen, most)
            if not normalised:
                total = tkw.sum(_power(row, most), dim=E)
                found = found / tkw.broadcast(total, target_shape=[TOKENS, CHOICES])
        if normalised:
            total = tkw.sum(found, dim=CHOICES)
            found = found / tkw.broadcast(total, target_shape=[TOKENS, CHOICES])
        tkw.write(found, weights)
        tkw.write(numbers, experts)

    return route


def _power(logits: Any, most: Any) -> Any:
    """``exp(logits - most)``, for a ``most`` of each token."""
    shape = list(logits.type.shape)
    return tkw.exp2((logits - tkw.broadcast(most, target_shape=shape)) * LOG2_E)


def group_tokens_kernel(choices: int) -> Any:
    """Places for pairs of a token and an expert, all pairs of an expert together.

    Pairs keep their order within an expert. A workgroup for each expert goes through
    all of them twice: how many belong to experts before it says where its own begin,
    and a running count gives each of these its place. One more workgroup finds the
    end. Nothing is updated by several, so each launch gives the same.

    Shapes: ``experts: [PAIRS]``, ``tokens: [PAIRS]``, the token of the pair at each
    place, ``places: [PAIRS]``, the place of each pair, ``starts: [ENDS]``. Dtypes: i32.
    Experts are from 0 up to ``ENDS - 1``, pair p is of token ``p // choices``. Symbols
    to bind: ``ENDS``; ``PAIRS``, which may be dynamic.
    """

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(ENDS, 1, 0),
            tkw.TilingConstraint(PAIRS, BLOCK_PAIRS),
            tkw.HardwareConstraint(),
        ]
    )
    def group_tokens(
        experts: tkl.Memory[PAIRS, _GLOBAL, tkl.i32],
        tokens: tkl.Memory[PAIRS, _GLOBAL, tkl.i32],
        places: tkl.Memory[PAIRS, _GLOBAL, tkl.i32],
        starts: tkl.Memory[ENDS, _GLOBAL, tkl.i32],
    ) -> None:
        none = tkl.Register[ENDS, tkl.i32](0)

        @tkw.iterate(PAIRS, init_args=[none])
        def start(before: Any) -> Any:
            others = tkw.cast(_by_expert(experts) < _mine(), tkl.i32)
            return tkw.sum(others, before, dim=PAIRS)

        tkw.write(start, starts)

        @tkw.iterate(PAIRS, init_args=[start])
        def each(before: Any) -> Any:
            own = _by_expert(experts) == _mine()
            one = tkw.cast(own, tkl.i32)
            place = tkw.cumsum(one, before, dim=PAIRS, exclusive=True)
            pair = tkw.broadcast(
                tkw.self_index(PAIRS, tkl.i32), target_shape=[ENDS, PAIRS]
            )
            _put(pair // choices, tokens, own, place)
            _put(place, places, own, pair)
            return tkw.sum(one, before, dim=PAIRS)

    return group_tokens


def _by_expert(experts: Any) -> Any:
    return tkw.broadcast(tkw.read(experts), target_shape=[ENDS, PAIRS])


def _mine() -> Any:
    mine = tkw.self_index(ENDS, tkl.i32)
    return tkw.broadcast(mine, target_shape=[ENDS, PAIRS])


_I, _J = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
_PUT = tkw.IndexMapping(
    2,
    inputs={ENDS: _I, PAIRS: _J},
    outputs={PAIRS: tkw.IndexMapping.dynamic_val(0)},
    dynamic_val_mappings={ENDS: _I, PAIRS: _J},
)


def _put(values: Any, memory: Any, own: Any, place: Any) -> None:
    """Write the values of this expert's pairs at their places."""
    away = tkl.Register[ENDS, PAIRS, tkl.i32](-1)
    index = tkw.select(own, place, away)
    tkw.write(
        values,
        memory,
        mapping=_PUT,
        mapping_dynamic_vals=(index,),
        bounds={PAIRS: PAIRS},
    )
