"""Products that lanes multiply and sum, where no matrix instruction is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.constraints import HardwareConstraint
from wave_core.ops.arithmetic import Add, Mul
from wave_core.ops.compare import Cast
from wave_core.ops.matrix import Mma
from wave_core.ops.reduce import Reduce
from wave_core.ops.shape import Broadcast, Permute
from wave_core.targets import GENERIC_DOT

if TYPE_CHECKING:
    from wave_core.diagnostics import Location
    from wave_core.ops.base import Op
    from wave_core.trace.tracer import Tracer


def is_generic(tracer: Tracer, fields: dict[str, Any]) -> bool:
    """Whether the product, or else the kernel, asks for no matrix instruction."""
    rows = tracer.graph.constraints
    given = (row.mma_type for row in rows if isinstance(row, HardwareConstraint))
    return (fields.get("mma_type") or next(given, None)) == GENERIC_DOT


def summed(tracer: Tracer, fields: dict[str, Any], location: Location) -> Op:
    """The accumulator plus the sum of products, in the accumulator's element type.

    Raises:
        UserError: WV0203, WV0204, WV0205 where the operands form no product.
    """
    product = Mma(**fields)
    product.location = location
    kind = product.infer()

    def emit(op: Op) -> Op:
        return tracer.emit(op, location)

    sides = [
        side if side.register_type.dtype == kind.dtype else emit(Cast(side, kind.dtype))
        for side in (product.lhs, product.rhs)
    ]
    total = emit(Mul(*sides))
    for dim in reversed(product.contraction().k):
        total = emit(Reduce((total,), None, "sum", dim, block=False))
    have = total.register_type.shape
    if len(have) < len(kind.shape):
        total = emit(Broadcast(total, kind.shape))
    elif have != kind.shape:
        total = emit(Permute(total, kind.shape))
    return emit(Add(total, product.acc))
