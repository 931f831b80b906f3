"""Constraints about the machine and the launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from wave_core.constraints.base import (
    MAX_AXES,
    Constraint,
    SurfaceExpr,
    constraint,
    is_count,
    surface_expr,
)
from wave_core.diagnostics import user_error
from wave_core.targets import MMAType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.symbols import Expr

_SHAPES = "a dictionary of counts, such as {M: 16, N: 16}"
_WAVES = f"a positive integer for each of 1 to {MAX_AXES} axes"


@constraint
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
        workgroups_per_cluster: Planned.
        n_service_waves: Planned.
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
        self._check()

    def _check(self) -> None:
        """Refuse what means nothing, and what nobody acts on yet."""
        lanes, waves = self.threads_per_wave, self.waves_per_block
        self._require(
            "threads_per_wave",
            lanes is None or is_count(lanes, 1),
            "the lanes of a wave, such as 64, or nothing",
        )
        if isinstance(waves, list):
            self._set("waves_per_block", tuple(waves))
        self._require("waves_per_block", _are_waves(waves), _WAVES)
        named = self.mma_type is None or isinstance(self.mma_type, str)
        self._require("mma_type", named, "an MMAType or its name")
        self._require(
            "max_bits_per_load",
            is_count(self.max_bits_per_load, 8) and self.max_bits_per_load % 8 == 0,
            "a positive multiple of 8",
        )
        self._convert_shapes(self.vector_shapes)
        for name, default in (("workgroups_per_cluster", None), ("n_service_waves", 0)):
            if getattr(self, name) != default:
                raise self._planned(name)

    def _convert_shapes(self, given: object) -> None:
        mapped = given is None or isinstance(given, (Mapping, tuple))
        self._require("vector_shapes", mapped, _SHAPES)
        if not isinstance(given, Mapping):
            return
        obligations = list(self.obligations)
        rows = tuple(
            (str(dim), surface_expr(size, obligations, self.location))
            for dim, size in cast("Mapping[Any, Any]", given).items()
        )
        for _, size in rows:
            fits = not size.is_constant or size.constant_value >= 0
            self._require("vector_shapes", fits, _SHAPES)
        self._set("vector_shapes", rows)
        self._set("obligations", tuple(obligations))

    def _planned(self, name: str) -> Exception:
        return user_error(
            "WV0110",
            f"`{name}=` of HardwareConstraint is planned and not there yet",
            at=self.location,
            label="no kernel is compiled any different for it",
            help=f"leave `{name}` out",
        )

    @property
    def vector_shape(self) -> dict[str, Expr]:
        """The vector shapes by dimension name."""
        rows = self.vector_shapes or ()
        assert not isinstance(rows, Mapping), "converted on construction"
        return dict(rows)


def _are_waves(given: object) -> bool:
    if given is None:
        return True
    if not isinstance(given, (list, tuple)):
        return False
    counts = cast("Sequence[object]", given)
    return 1 <= len(counts) <= MAX_AXES and all(is_count(count, 1) for count in counts)


@constraint
class GridConstraint(Constraint):
    """Launch exactly ``grid_size`` workgroups on axis 0.

    Workgroup offsets are then not added to indices: the kernel places its own
    work (persistent and stream-K kernels).
    """

    grid_size: SurfaceExpr


@constraint
class ReorderingConstraint(Constraint):
    """Read workgroup coordinate ``workgroup_dim`` as ``new_expr`` everywhere.

    ``new_expr`` is over the workgroup symbols; it must permute the grid.
    """

    new_expr: SurfaceExpr
    workgroup_dim: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_axis("workgroup_dim")
