"""What parts of a sequence have found, merged."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportOperatorIssue=false
# pyright: reportInvalidTypeForm=false, reportAssignmentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.attention_scores import LOWEST
from wave_kernels.definitions.attention_tiles import N
from wave_kernels.definitions.key_parts import HEADS, SEQUENCES, SPLIT

if TYPE_CHECKING:
    from wave_core.types import DType

TOGETHER = 16
"""Parts that are merged at once: what they gave is fetched at the same time."""


def merge_kernel(dtype: DType = tkl.f16) -> Any:
    """The mean of parts, weighted by 2 to the power of their ``sums``.

    Rows whose parts have all seen no key, sums of minus infinity, are zeros.

    Shapes: ``parts: [SEQUENCES, SPLIT, HEADS, N]``, ``sums: [SEQUENCES, SPLIT,
    HEADS]``, ``output: [SEQUENCES, HEADS, N]``. Dtypes: f32, ``output`` ``dtype``.
    Accuracy: 1e-5 of the largest part, and rounding to ``dtype``.
    """
    row = (SEQUENCES, HEADS)
    constraints = [
        tkw.HardwareConstraint(vector_shapes={SEQUENCES: 1, HEADS: 1, SPLIT: 1, N: 64}),
        tkw.WorkgroupConstraint(N, 64, 0),
        tkw.WorkgroupConstraint(HEADS, 1, 1),
        tkw.WorkgroupConstraint(SEQUENCES, 1, 2),
        tkw.TilingConstraint(SPLIT, TOGETHER),
        tkw.WaveConstraint(N, 64),
        tkw.FastMath(maxima_drop_nan=True),
    ]
    whole = tkl.GLOBAL_ADDRESS_SPACE

    @tkw.wave(constraints)
    def merge(
        parts: tkl.Memory[SEQUENCES, SPLIT, HEADS, N, whole, tkl.f32],
        sums: tkl.Memory[SEQUENCES, SPLIT, HEADS, whole, tkl.f32],
        output: tkl.Memory[SEQUENCES, HEADS, N, whole, dtype],
    ) -> None:
        least = tkl.Register[*row, tkl.f32](LOWEST)
        zero = tkl.Register[*row, tkl.f32](0.0)
        nothing = tkl.Register[*row, N, tkl.f32](0.0)

        @tkw.iterate(SPLIT, init_args=[least, zero, nothing])
        def merged(
            highest: tkl.Register[*row, tkl.f32],
            total: tkl.Register[*row, tkl.f32],
            acc: tkl.Register[*row, N, tkl.f32],
        ) -> Any:
            weights = tkw.permute(tkw.read(sums), target_shape=[*row, SPLIT])
            own = tkw.permute(tkw.read(parts), target_shape=[*row, N, SPLIT])
            above = tkw.max(weights, highest, dim=SPLIT)
            less = tkw.exp2(highest - above)
            powers = tkw.exp2(weights - tkw.broadcast(above, [*row, SPLIT]))
            shares = own * tkw.broadcast(powers, [*row, N, SPLIT])
            total = tkw.sum(powers, total * less, dim=SPLIT)
            acc = tkw.sum(shares, acc * tkw.broadcast(less, [*row, N]), dim=SPLIT)
            return above, total, acc

        _, total, acc = merged
        one = tkl.Register[*row, tkl.f32](1.0)
        total = tkw.select(total == zero, one, total)
        mean = acc * tkw.broadcast(tkw.reciprocal(total), target_shape=[*row, N])
        tkw.write(tkw.cast(mean, dtype), output)

    return merge
