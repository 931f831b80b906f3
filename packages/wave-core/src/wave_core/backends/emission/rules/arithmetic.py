"""Arithmetic and mathematics, element by element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wave_core.backends import lowers
from wave_core.backends.emission.divisions import DIVISIONS
from wave_core.backends.emission.operands import Operands
from wave_core.ops import arithmetic as ops
from wave_core.ops.constant import Scalar, Splat
from wave_core.symbols import Expr

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission
    from wave_core.ops.base import Op
    from wave_core.ops.elementwise import Binary, Unary
    from wave_core.types import DType

_SAME = (
    *("powf", "exp", "exp2", "sqrt", "rsqrt", "log", "log2", "log10", "roundeven"),
    *("floor", "ceil", "sin", "cos", "sinh", "tanh", "cbrt", "erf", "remf"),
)
"""Functions whose word is the language's name."""

_FLOAT = {
    **{name: name for name in _SAME},
    **{name: f"{name}f" for name in ("add", "sub", "mul", "div", "neg", "abs")},
    **{name: f"{name}f" for name in ("maximum", "minimum")},
    "round": "roundeven",
    "tanh_approx": "tanh",
}

_INTEGER = {
    **{name: f"{name}i" for name in ("add", "sub", "mul", "and", "or", "xor")},
    "maximum": "maxsi",
    "minimum": "minsi",
    "abs": "absi",
}

_UNSIGNED = _INTEGER | {"maximum": "maxui", "minimum": "minui"}


@lowers(*ops.BINARY, *ops.UNARY)
def elementwise(op: Binary | Unary, emit: Emission) -> None:
    """One operation, where there is one for the type."""
    work = Operands(op, emit)
    work.finish(work.apply(word_of(op, work.dtype), *work.names))


def word_of(op: Binary | Unary, dtype: DType) -> str:
    """The word of `Instructions` for an op that is computed in ``dtype``."""
    integers = _UNSIGNED if dtype.is_unsigned else _INTEGER
    return (_FLOAT if dtype.is_float else integers)[op.op_name]


@lowers(ops.Neg, when=lambda op: not op.register_type.dtype.is_float, benefit=2)
def negate_integer(op: ops.Neg, emit: Emission) -> None:
    """Zero minus the value; it wraps."""
    work = Operands(op, emit)
    work.finish(work.apply("subi", work.constant(0), *work.names))


def _is_unsigned(op: Op) -> bool:
    return op.operands[0].register_type.dtype.is_unsigned


@lowers(ops.Abs, when=_is_unsigned, benefit=2)
def size_of_unsigned(op: ops.Abs, emit: Emission) -> None:
    """The value itself."""
    work = Operands(op, emit)
    work.finish(*work.names)


@lowers(ops.Not, benefit=2)
def invert(op: ops.Not, emit: Emission) -> None:
    """All bits flipped."""
    work = Operands(op, emit)
    ones = work.constant(1 if work.dtype.is_bool else -1)
    work.finish(work.apply("xori", *work.names, ones))


@lowers(ops.Reciprocal, benefit=2)
def reciprocal(op: ops.Reciprocal, emit: Emission) -> None:
    """One over the value."""
    work = Operands(op, emit)
    work.finish(work.apply("divf", work.constant(1.0), *work.names))


@lowers(ops.Softsign, benefit=2)
def softsign(op: ops.Softsign, emit: Emission) -> None:
    """``x / (1 + |x / cap|)``."""
    work = Operands(op, emit)
    (value,) = work.names
    ratio = work.apply("divf", value, work.constant(op.cap))
    size = work.apply("absf", ratio)
    below = work.apply("addf", work.constant(1.0), size)
    work.finish(work.apply("divf", value, below))


@lowers(ops.Sigmoid, ops.Silu, benefit=2)
def logistic(op: ops.Sigmoid | ops.Silu, emit: Emission) -> None:
    """``1 / (1 + exp(-x))``, or ``x`` over the same."""
    work = Operands(op, emit)
    (value,) = work.names
    top = work.constant(1.0) if isinstance(op, ops.Sigmoid) else value
    work.finish(_over_one_plus_exp(work, top, work.apply("negf", value)))


def _over_one_plus_exp(work: Operands, top: str, power: str) -> str:
    below = work.apply("addf", work.constant(1.0), work.apply("exp", power))
    return work.apply("divf", top, below)


@lowers(ops.Gelu, benefit=2)
def gelu(op: ops.Gelu, emit: Emission) -> None:
    """By erfc, or by the logistic function that the form ``tanh`` comes to."""
    work = Operands(op, emit)
    (value,) = work.names
    if op.approximate == "none":
        half = work.apply("mulf", value, work.constant(0.5))
        below = work.apply("mulf", value, work.constant(-math.sqrt(0.5)))
        work.finish(work.apply("mulf", half, work.apply("erfc", below)))
        return
    square = work.apply("mulf", value, value)
    cube = work.apply("mulf", square, value)
    cube = work.apply("mulf", cube, work.constant(ops.GELU_CUBE))
    inner = work.apply("addf", value, cube)
    inner = work.apply("mulf", inner, work.constant(ops.GELU_SCALE))
    work.finish(_over_one_plus_exp(work, value, inner))


@lowers(ops.Shl, ops.Shr, benefit=2)
def shift(op: ops.Shl | ops.Shr, emit: Emission) -> None:
    """A shift by less than the width; beyond it, what comes in.

    The machine takes the distance modulo the width.
    """
    work = Operands(op, emit)
    value, distance = work.names
    last = work.constant(work.dtype.bits - 1)
    # As unsigned numbers, negative distances are beyond the width too.
    beyond = work.test("ugt", distance, last)
    if isinstance(op, ops.Shr) and not work.dtype.is_unsigned:
        work.finish(work.apply("shrsi", value, work.choose(beyond, last, distance)))
        return
    word = "shli" if isinstance(op, ops.Shl) else "shrui"
    safe = work.choose(beyond, last, distance)
    moved = work.apply(word, value, safe)
    work.finish(work.choose(beyond, work.constant(0), moved))


@lowers(ops.Atan2, benefit=2)
def angle(op: ops.Atan2, emit: Emission) -> None:
    """The angle; of a point at the origin, that of the signs of its zeros.

    The compiler computes ``0 / 0`` where it knows that both are zero.
    """
    work = Operands(op, emit)
    across, along = work.names
    zero, one = work.constant(0.0), work.constant(1.0)
    flat = work.test("oeq", across, zero)
    origin = work.logic("andi", flat, work.test("oeq", along, zero))
    side = work.choose(origin, work.apply("copysign", one, along), along)
    work.finish(work.apply("atan2", across, side))


@lowers(ops.FloorDiv, ops.Mod, benefit=2)
def division(op: ops.FloorDiv | ops.Mod, emit: Emission) -> None:
    """The floor of the quotient; the remainder on the side of the divisor."""
    work, power = Operands(op, emit), _power(op, emit)
    if power is not None:
        work.finish(_by_power(work, op, power))
        return
    make = DIVISIONS[op.op_name, work.dtype.family]
    work.finish(make(work, *work.names))


def _power(op: Op, emit: Emission) -> int | None:
    """The power of two that an integer is divided by, where it is known to be one."""
    below = op.operands[1]
    number = below.value if isinstance(below, Splat | Scalar) else None
    if isinstance(number, Expr) and (found := emit.expr(number)).is_constant:
        number = found.constant_value
    if not isinstance(number, int) or not below.register_type.dtype.is_integer:
        return None
    return number.bit_length() - 1 if number > 0 and not number & (number - 1) else None


def _by_power(work: Operands, op: Op, power: int) -> str:
    """A shift, or the bits below: of negative numbers these round down, too."""
    if isinstance(op, ops.Mod):
        rest = work.constant((1 << power) - 1)
        return work.apply("andi", work.names[0], rest)
    word = "shrui" if work.dtype.is_unsigned else "shrsi"
    return work.apply(word, work.names[0], work.constant(power))
