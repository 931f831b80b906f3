"""Flash attention that rescales what it has added up only where scores have grown."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.attention_tiles import (
    BLOCK_K2,
    BLOCK_M,
    BLOCK_N,
    K1,
    K2,
    MMA_ROWS,
    WAVES_M,
    B,
    M,
    N,
    mapping,
    spread,
)
from wave_kernels.definitions.staging import ADDRESS_SPACE, STAGING

ROWS = 32
"""Rows of queries of a wave, and of its matrix instruction: a lane has one of them."""

LAG = 8.0
"""How far scores may be above what is subtracted from them, as a power of 2."""

LOWEST = -1e30
"""Less than any score of f16 operands, which are below 65504 ** 2 * K1."""

TILES = tkw.Tunable(
    (BLOCK_M, BLOCK_N, BLOCK_K2, WAVES_M, MMA_ROWS),
    (
        (128, 64, 32, 4, ROWS),
        (128, 128, 32, 4, ROWS),
        (128, 64, 64, 4, ROWS),
        (128, 128, 64, 4, ROWS),
        (256, 64, 32, 8, ROWS),
        (64, 64, 32, 2, ROWS),
    ),
)


def lazy_attention_kernel() -> Any:
    """`attention_kernel`, with another order of the same sums.

    What is subtracted from the scores of a row need not be their greatest: any number
    gives the same quotient, as long as powers neither overflow nor all vanish. So
    ``shift`` stays, and with it all that has been added up, until a score is more than
    `LAG` above it, which no longer happens after few tiles. It is where products
    begin to add up, so that nothing is subtracted afterwards.

    Where a row is rescaled its greatest power is 1. It only grows from there, so that
    ``partial_sum`` is at least 1, and no power is above 2 ** `LAG`, which f16 holds
    with the precision of all others. A row without any sum has no shift yet, and the
    ``limit`` `LOWEST`: it takes that of its first tile, upwards or downwards.

    Each lane decides about its row: it needs tiles of `ROWS` rows for each wave, and a
    matrix instruction that gives a lane one row.

    Shapes, dtypes, accuracy: as `attention_kernel`.
    """

    @tkw.wave(spread((B,), None, TILES, STAGING))
    def attention(
        q: tkl.Memory[B, M, K1, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, K2, K1, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, K2, N, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[B, M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        c_reg = tkl.Register[B, N, M, tkl.f32](0.0)
        init_sum = tkl.Register[B, M, tkl.f32](0.0)
        no_shift = tkl.Register[B, K2, M, tkl.f32](0.0)
        no_limit = tkl.Register[B, M, tkl.f32](LOWEST)

        @tkw.iterate(K2, init_args=[no_shift, no_limit, init_sum, c_reg])
        def repeat(
            shift: tkl.Register[B, K2, M, tkl.f32],
            limit: tkl.Register[B, M, tkl.f32],
            partial_sum: tkl.Register[B, M, tkl.f32],
            acc: tkl.Register[B, N, M, tkl.f32],
        ):
            scores = tkw.mma(tkw.read(k), tkw.read(q), shift)
            x_j = tkw.permute(scores, target_shape=[B, M, K2])
            highest = tkw.max(x_j, dim=K2)

            kept = [x_j, shift, limit, partial_sum, acc]

            @tkw.conditional(highest > limit, else_return=kept)
            def rescaled() -> Any:
                none: Any = tkl.Register[B, M, tkl.f32](0.0)
                # Without a sum there is nothing to scale, by whatever highest says.
                scale = tkw.exp2(tkw.minimum(none, none - highest))
                more = tkw.broadcast(highest, target_shape=[B, M, K2])
                lower = shift - tkw.permute(more, target_shape=[B, K2, M])
                less, lag = partial_sum * scale, none + LAG
                return x_j - highest, lower, lag, less, acc * scale

            x_j, shift, limit, e_init, new_acc = rescaled
            e_delta = tkw.exp2(x_j)
            d_j = tkw.sum(e_delta, e_init, dim=K2)
            v_reg = tkw.read(v, mapping=mapping(B, N, K2, to=(B, K2, N)))
            acc = tkw.mma(v_reg, tkw.cast(e_delta, tkl.f16), new_acc)
            return shift, limit, d_j, acc

        _, _, res_sum, res_mm = repeat
        res = res_mm * tkw.reciprocal(res_sum)
        tkw.write(res, c, mapping=mapping(B, N, M, to=(B, M, N), written=True))

    return attention
