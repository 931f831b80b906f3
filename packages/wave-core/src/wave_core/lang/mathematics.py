"""Surface functions for arithmetic; some shadow Python's own names, here only."""

from __future__ import annotations

from typing import Any

from wave_core.diagnostics import capture_location, coded_arguments
from wave_core.ops import arithmetic, compare
from wave_core.ops.matrix import Mma
from wave_core.targets import MMAType
from wave_core.trace.surface import surface
from wave_core.trace.value import Value, emit_op

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
cbrt = surface(arithmetic.Cbrt)
softsign = surface(arithmetic.Softsign)
eq = surface(compare.Eq)
ne = surface(compare.Ne)
lt = surface(compare.Lt)
le = surface(compare.Le)
gt = surface(compare.Gt)
ge = surface(compare.Ge)
select = surface(compare.Select)
cast = surface(compare.Cast)


@coded_arguments
def mma(
    lhs: Any,
    rhs: Any,
    acc: Any,
    mma_type: MMAType | str | None = None,
    *,
    tag: Any = None,
) -> Value:
    """``acc + lhs * rhs^T`` on tiles ``[.., M, K]``, ``[.., N, K]``, ``[.., M, N]``.

    Args:
        lhs: The left tile.
        rhs: The right tile.
        acc: What the product is added to.
        mma_type: The matrix instruction; the hardware constraint's if left out.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0203 where the dims form no product, WV0204, WV0205.
    """
    name = mma_type.value if isinstance(mma_type, MMAType) else mma_type
    fields = {"lhs": lhs, "rhs": rhs, "acc": acc, "mma_type": name}
    return emit_op(Mma, fields, tag=tag, location=capture_location())
