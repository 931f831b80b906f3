"""Surface functions for arithmetic; some shadow Python's own names, here only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.ops import arithmetic, compare
from wave_core.ops.matrix import Mma, ScaledMma
from wave_core.trace.surface import surface
from wave_core.trace.value import Value, emit_op

if TYPE_CHECKING:
    from wave_core.targets import GenericDot, MMAType, ScaledMMAType

maximum = surface(arithmetic.Maximum)
minimum = surface(arithmetic.Minimum)
atan2 = surface(arithmetic.Atan2)
powf = surface(arithmetic.Pow)
mod = surface(arithmetic.Mod)
abs = surface(arithmetic.Abs)  # noqa: A001 - the language's own name
exp = surface(arithmetic.Exp)
exp2 = surface(arithmetic.Exp2)
sqrt = surface(arithmetic.Sqrt)
rsqrt = surface(arithmetic.Rsqrt)
log = surface(arithmetic.Log)
log2 = surface(arithmetic.Log2)
log10 = surface(arithmetic.Log10)
reciprocal = surface(arithmetic.Reciprocal)
round = surface(arithmetic.Round)  # noqa: A001 - the language's own name
roundeven = surface(arithmetic.RoundEven)
floor = surface(arithmetic.Floor)
ceil = surface(arithmetic.Ceil)
sin = surface(arithmetic.Sin)
cos = surface(arithmetic.Cos)
sinh = surface(arithmetic.Sinh)
tanh = surface(arithmetic.Tanh)
tanh_approx = surface(arithmetic.TanhApprox)
erf = surface(arithmetic.Erf)
sigmoid = surface(arithmetic.Sigmoid)
silu = surface(arithmetic.Silu)
gelu = surface(arithmetic.Gelu)
remf = surface(arithmetic.Rem)
cbrt = surface(arithmetic.Cbrt)
softsign = surface(arithmetic.Softsign)
eq = surface(compare.Eq)
ne = surface(compare.Ne)
lt = surface(compare.Lt)
le = surface(compare.Le)
gt = surface(compare.Gt)
ge = surface(compare.Ge)
select = surface(compare.Select)
where = surface(compare.Select, "where")
cast = surface(compare.Cast)


@coded_arguments
def clamp(value: Any, low: Any = None, high: Any = None, *, tag: Any = None) -> Value:
    """``value``, but at least ``low`` and then at most ``high``; NaN stays NaN.

    Args:
        value: A register of numbers.
        low: A register or a number; no limit if left out.
        high: The same.
        tag: Names that schedules use to find the op that is computed last.

    Raises:
        UserError: WV0106 without any limit, WV0204, WV0205, WV0206.
    """
    location = capture_location()
    if low is None and high is None:
        raise user_error(
            "WV0106",
            "`clamp` needs `low`, `high` or both",
            at=location,
            help="write `clamp(x, 0.0, 1.0)`",
        )
    for limit, extreme in ((low, arithmetic.Maximum), (high, arithmetic.Minimum)):
        if limit is not None:
            fields = {"lhs": value, "rhs": limit}
            value = emit_op(extreme, fields, tag=tag, location=location)
    return value


@coded_arguments
def mma(
    lhs: Any,
    rhs: Any,
    acc: Any,
    mma_type: MMAType | ScaledMMAType | GenericDot | str | None = None,
    *,
    tag: Any = None,
) -> Value:
    """``acc + lhs * rhs^T`` on tiles ``[.., M, K]``, ``[.., N, K]``, ``[.., M, N]``.

    Args:
        lhs: The left tile.
        rhs: The right tile.
        acc: What the product is added to.
        mma_type: The matrix instruction, or a `GenericDot` to do without; the hardware
            constraint's if left out.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0203 where the dims form no product, WV0204, WV0205.
    """
    fields = {"lhs": lhs, "rhs": rhs, "acc": acc, "mma_type": _name_of(mma_type)}
    return emit_op(Mma, fields, tag=tag, location=capture_location())


@coded_arguments
def scaled_mma(
    lhs: Any,
    lhs_scale: Any,
    rhs: Any,
    rhs_scale: Any,
    acc: Any,
    mma_type: ScaledMMAType | str | None = None,
    *,
    tag: Any = None,
) -> Value:
    """As `mma`, with a power of two for each block of 32 elements along K.

    Args:
        lhs: The left tile ``[.., M, K]``, in f4, f6 or f8.
        lhs_scale: Its scales ``[.., M, K/32]``, in f8e8m0fnu.
        rhs: The right tile ``[.., N, K]``, of the same element type.
        rhs_scale: Its scales ``[.., N, K/32]``.
        acc: What the product is added to, ``[.., M, N]`` of f32.
        mma_type: The matrix instruction; by default one that takes the operands.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0203 where the dims form no product, WV0204, WV0205, WV0223
            where the scales do not fit.
    """
    fields = {"lhs": lhs, "rhs": rhs, "acc": acc, "mma_type": _name_of(mma_type)}
    fields["scales"] = (lhs_scale, rhs_scale)
    return emit_op(ScaledMma, fields, tag=tag, location=capture_location())


def _name_of(
    mma_type: MMAType | ScaledMMAType | GenericDot | str | None,
) -> str | None:
    return None if mma_type is None else str(mma_type)
