"""Constraints about the machine and the launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wave_core.constraints.base import Constraint, SurfaceExpr, surface_expr
from wave_core.targets import MMAType

if TYPE_CHECKING:
    from wave_core.symbols import Expr


@dataclass(frozen=True)
class HardwareConstraint(Constraint):
    """The wave, the matrix instruction, and how much one step handles.

    Attributes:
        threads_per_wave: Lanes of a wave; the target's if left out.
        waves_per_block: Waves of a workgroup on each axis; inferred from the wave
            constraints when left out.
        mma_type: The matrix instruction of ops that name none; by default the
            first of the target's that takes the operands.
        vector_shapes: Elements of a dimension that one step handles; 0 marks a
            batch dimension, which is not a vector dimension.
        max_bits_per_load: The widest access of one lane, in bits.
    """

    threads_per_wave: int | None = None
    waves_per_block: tuple[int, ...] | None = None
    workgroups_per_cluster: tuple[int, ...] | None = None
    mma_type: MMAType | str | None = None
    vector_shapes: Mapping[Any, Any] | tuple[tuple[str, Expr], ...] | None = None
    max_bits_per_load: int = 128
    n_service_waves: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.mma_type, MMAType):
            self._set("mma_type", self.mma_type.value)
        if isinstance(self.vector_shapes, Mapping):
            obligations = list(self.obligations)
            rows = tuple(
                (str(dim), surface_expr(size, obligations, self.location))
                for dim, size in self.vector_shapes.items()
            )
            self._set("vector_shapes", rows)
            self._set("obligations", tuple(obligations))

    @property
    def vector_shape(self) -> dict[str, Expr]:
        """The vector shapes by dimension name."""
        rows = self.vector_shapes or ()
        assert not isinstance(rows, Mapping), "converted on construction"
        return dict(rows)


@dataclass(frozen=True)
class GridConstraint(Constraint):
    """Launch exactly ``grid_size`` workgroups on axis 0.

    Workgroup offsets are then not added to indices: the kernel places its own
    work (persistent and stream-K kernels).
    """

    grid_size: SurfaceExpr

    def __post_init__(self) -> None:
        super().__post_init__()
        self._convert("grid_size")


@dataclass(frozen=True)
class ReorderingConstraint(Constraint):
    """Read workgroup coordinate ``workgroup_dim`` as ``new_expr`` everywhere.

    ``new_expr`` is over the workgroup symbols; it must permute the grid.
    """

    new_expr: SurfaceExpr
    workgroup_dim: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._convert("new_expr")
