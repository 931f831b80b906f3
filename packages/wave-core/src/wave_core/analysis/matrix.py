"""Roles of the dimensions of a matrix op, and the instruction that it uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.targets import MMAType
from wave_core.types import dim_name

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ops.base import Op
    from wave_core.ops.matrix import Mma
    from wave_core.targets import MatrixInstruction, Target


@dataclass(frozen=True, slots=True)
class MatrixRoles:
    """Roles of the dimensions of a matrix op: rows, columns, contracted, batch.

    ``k`` is the contracted dimension that the instruction walks; ``outer_k`` are
    further contracted dimensions, walked one element at a time.
    """

    m: str
    n: str
    k: str
    outer_k: tuple[str, ...]


def dims_of(op: Op) -> tuple[str, ...]:
    """The dimensions of a register value."""
    return op.register_type.dims


def matrix_roles(op: Mma) -> MatrixRoles:
    """The roles of the dimensions of ``op``; its type rule has checked them."""
    found = op.contraction()
    *outer, inner = (dim_name(dim) for dim in found.k)
    return MatrixRoles(dim_name(found.m), dim_name(found.n), inner, tuple(outer))


def instruction_of(op: Mma, geometry: Geometry, target: Target) -> MatrixInstruction:
    """The instruction that ``op`` uses, checked against its operands' types.

    Raises:
        UserError: WV0702 if the target lacks it, WV0205 if the types do not fit.
    """
    given = geometry.hardware.mma_type
    name = op.mma_type or (given.value if isinstance(given, MMAType) else given)
    dtype = op.lhs.register_type.dtype
    if name is None:
        return target.default_mma(dtype, op.location)
    row = target.matrix_instruction(name, op.location)
    if dtype not in row.operand_dtypes:
        takes = ", ".join(str(d) for d in row.operand_dtypes)
        raise user_error(
            "WV0205",
            f"matrix instruction `{row.name}` takes {takes}, not {dtype}",
            at=op.location,
            label=f"multiplies {dtype}",
            help=(f"cast the operands to {row.operand_dtypes[0]}",),
        )
    return row
