"""Random numbers: the same for a seed and an offset on every device.

Nothing is kept between calls: a kernel that runs again with the same seed gives the
same numbers, and a backward pass can make them again.
"""

from __future__ import annotations

import math
from typing import Any

from wave_core.diagnostics import capture_location, coded_arguments
from wave_core.ops.arithmetic import Cos, Log, Sqrt
from wave_core.ops.compare import Cast
from wave_core.ops.random import Philox
from wave_core.trace.surface import value_type
from wave_core.trace.value import Value, emit_op
from wave_core.types import DTYPES

_U64, _U32, _F32 = DTYPES["u64"], DTYPES["u32"], DTYPES["f32"]

_STEP = 2.0**-24
"""The distance of the numbers that `rand` gives: f32 holds 24 bits."""


@coded_arguments
def philox(seed: Any, offset: Any, word: int = 0, *, tag: Any = None) -> Value:
    """32 random bits for each element, by Philox4x32-10.

    Args:
        seed: The key: an integer, or a register of integers.
        offset: A register of integers that differ: each gives a block of four words.
        word: Which word of the block, 0 to 3.
        tag: Names that schedules use to find the op.

    Returns:
        A register of u32 on the dims of both.

    Raises:
        UserError: WV0105, WV0205, WV0222.
    """
    fields = {"seed": _wide(seed), "offset": _wide(offset), "word": word}
    return emit_op(Philox, fields, tag=tag, location=capture_location())


def _wide(value: Any) -> Any:
    found = value_type(value)
    if found is None or not found.dtype.is_integer or found.dtype == _U64:
        return value
    return emit_op(Cast, {"value": value, "dtype": _U64})


@coded_arguments
def randint(seed: Any, offset: Any, *, tag: Any = None) -> Value:
    """A u32 for each element of ``offset``, each value as likely as any other.

    See `philox` for the arguments.
    """
    return philox(seed, offset, tag=tag)


@coded_arguments
def rand(seed: Any, offset: Any, *, tag: Any = None) -> Value:
    """An f32 from 0 on and below 1 for each element of ``offset``, evenly spread.

    These are the multiples of ``2 ** -24``. See `philox` for the arguments.
    """
    return _unit(philox(seed, offset, tag=tag))


@coded_arguments
def randn(seed: Any, offset: Any, *, tag: Any = None) -> Value:
    """An f32 from the normal distribution for each element of ``offset``.

    By Box and Muller from the first two words of a block; at most 5.8 from 0. See
    `philox` for the arguments.
    """
    # Never 0, of which there is no logarithm.
    radius = _unit(philox(seed, offset, tag=tag)) + _STEP
    angle = _unit(philox(seed, offset, 1)) * (2 * math.pi)
    length = emit_op(Sqrt, {"value": emit_op(Log, {"value": radius}) * -2.0})
    return length * emit_op(Cos, {"value": angle})


def _unit(bits: Value) -> Value:
    """The upper 24 bits as a fraction: f32 holds each of them."""
    return emit_op(Cast, {"value": bits >> 8, "dtype": _F32}) * _STEP
