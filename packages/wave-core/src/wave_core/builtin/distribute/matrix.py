"""Matrix ops anchor layouts: the instruction says where every element sits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.loops import static_tile
from wave_core.analysis.matrix import MatrixRoles, instruction_of, matrix_roles
from wave_core.builtin.distribute.placements import placed
from wave_core.diagnostics import user_error
from wave_core.ops.matrix import ScaledMma
from wave_core.types import dim_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Placement
    from wave_core.ops.base import Op
    from wave_core.ops.matrix import Mma
    from wave_core.symbols import Layout
    from wave_core.targets import MatrixInstruction, Target


@dataclass(frozen=True, slots=True)
class MatrixPlacements:
    """The placements that a matrix op demands of its operands."""

    roles: MatrixRoles
    row: MatrixInstruction
    lhs: Placement
    rhs: Placement
    acc: Placement
    scales: tuple[Placement, ...] = ()


def matrix_placements(op: Mma, geometry: Geometry, target: Target) -> MatrixPlacements:
    """Where the operands of ``op`` must sit: the target's row over the wave's tile."""
    roles = matrix_roles(op)
    row = instruction_of(op, geometry, target)
    for dim in (roles.k, *roles.outer_k):
        _check_whole(op, dim, geometry)
    names = {"M": roles.m, "N": roles.n, "K": roles.k}

    def tiled(layout: Layout, value: Op, names: Mapping[str, str] = names) -> Placement:
        renamed = layout.rename({d: names[d] for d in layout.dims})
        return placed(renamed, static_tile(op, value.register_type.dims, geometry))

    scales: list[Placement] = []
    if isinstance(op, ScaledMma):
        assert row.scales is not None, "an instruction with blocks has their layout"
        blocks = dim_name(op.block()[0])
        for rows, scale in zip((roles.m, roles.n), op.scales, strict=True):
            scales.append(tiled(row.scales, scale, {"M": rows, "K": blocks}))
    return MatrixPlacements(
        roles,
        row,
        tiled(row.lhs, op.lhs),
        tiled(row.rhs, op.rhs),
        tiled(row.acc, op.acc),
        tuple(scales),
    )


def _check_whole(op: Mma, dim: str, geometry: Geometry) -> None:
    if geometry.split_among_waves(dim) is not None:
        raise user_error(
            "WV0320",
            f"the contracted dimension `{dim}` is split among the waves of a workgroup",
            at=op.location,
            label="each wave would hold a partial product",
            help=(f"remove the WaveConstraint of `{dim}`, or reduce with `sum`",),
        )
