"""Roles of the dimensions of a matrix op, and the instruction that it uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.loops import loops_around
from wave_core.diagnostics import user_error
from wave_core.ops.matrix import ScaledMma
from wave_core.types import dim_name

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
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
    dtype, scaled = op.lhs.register_type.dtype, isinstance(op, ScaledMma)
    name = op.mma_type or _given(geometry, target, scaled=scaled)
    if name is None:
        return target.default_mma(
            dtype,
            op.location,
            scaled=scaled,
            rows=geometry.mma_rows,
            tile=_tile(op, geometry),
            lanes=geometry.lanes,
        )
    row = target.matrix_instruction(name, op.location, dtype)
    _check_lanes(op, row, geometry)
    if isinstance(op, ScaledMma):
        _check_blocks(op, row)
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


def _check_lanes(op: Mma, row: MatrixInstruction, geometry: Geometry) -> None:
    """The instruction is one of the kernel's waves.

    Raises:
        UserError: WV0702.
    """
    if row.lanes == geometry.lanes:
        return
    raise user_error(
        "WV0702",
        f"matrix instruction `{row.name}` is one of waves of {row.lanes} lanes, the"
        f" kernel has waves of {geometry.lanes}",
        at=op.location,
        label="this `mma` asks for it",
        secondary=((geometry.hardware.location, f"{geometry.lanes} lanes"),),
        help=(
            f"write threads_per_wave={row.lanes}",
            "or name an instruction of these waves, or none",
        ),
        instruction=row.name,
    )


def _tile(op: Mma, geometry: Geometry) -> tuple[int, int, int] | None:
    """M, N and K of the tile of a wave, where all are known at compile time."""
    roles, loops = matrix_roles(op), loops_around(op)
    m, n, k = (geometry.tile(dim, loops) for dim in (roles.m, roles.n, roles.k))
    if not (m.is_constant and n.is_constant and k.is_constant):
        return None
    return m.constant_value, n.constant_value, k.constant_value


def _given(geometry: Geometry, target: Target, *, scaled: bool) -> str | None:
    """The instruction of the hardware constraint, where it is one of that kind."""
    given = geometry.hardware.mma_type
    name = None if given is None else str(given)
    rows = target.matrix_instructions if scaled else ()
    plain = any(row.name == name and not row.scale_block for row in rows)
    return None if plain else name


def _check_blocks(op: ScaledMma, row: MatrixInstruction) -> None:
    """The instruction takes scales, and for blocks of this size.

    Raises:
        UserError: WV0223.
    """
    _, size = op.block()
    if size == row.scale_block:
        return
    takes = f"blocks of {row.scale_block}" if row.scale_block else "no scales"
    raise user_error(
        "WV0223",
        f"the scales of `scaled_mma` do not fit: `{row.name}` takes {takes}",
        at=op.location,
        label=f"each scale is for {size} elements",
        secondary=tuple((scale.location, "these are scales") for scale in op.scales),
        help="leave `mma_type` out, or use a `ScaledMMAType`"
        if not row.scale_block
        else f"give one scale for {row.scale_block} elements of K",
    )
