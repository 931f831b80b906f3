"""Constraints about the machine and the launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from wave_core.constraints.base import (
    LEFT_OUT,
    MAX_AXES,
    Constraint,
    SurfaceExpr,
    SurfaceOption,
    constraint,
    is_count,
    surface_expr,
)
from wave_core.diagnostics import user_error
from wave_core.targets import GenericDot, MMAType, ScaledMMAType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.symbols import Expr

_SHAPES = "a dictionary of counts, such as {M: 16, N: 16}"
_WAVES = f"a positive integer for each of 1 to {MAX_AXES} axes"
_WORKGROUPS = f"{_WAVES}, or nothing"
_ABSENT = {
    "workgroups_per_cluster": "clusters share what tensor copies of gfx1250 load; "
    "`SHARED_ADDRESS_SPACE` stages a tile for all waves of a workgroup",
    "n_service_waves": "`preset='fetch-ahead'` lets each wave load while it computes; "
    "`preset='pingpong'` lets waves take turns",
}
"""Fields that the reference language needs for gfx1250, and what serves instead."""


@constraint
class HardwareConstraint(Constraint):
    """The wave, the matrix instruction, and how much one step handles.

    Attributes:
        threads_per_wave: Lanes of a wave, one of the target's sizes. If left out, those
            of the instruction that ``mma_type`` names, or else what is usual there.
        waves_per_block: Waves of a workgroup on each axis; inferred from the wave
            constraints when left out.
        mma_type: The matrix instruction of ops that name none; by default the
            first of the target's that takes the operands.
        mma_rows: Rows of the instruction of ops that no ``mma_type`` is given for: the
            first of the target's with so many, or whichever it has for 0. Where only
            waves of another size have it, the kernel's waves are such, unless
            ``threads_per_wave`` says otherwise. A symbol, where they are `Tunable`.
        vector_shapes: Elements of a dimension that one step handles; 0 marks a
            batch dimension, which is not a vector dimension.
        max_bits_per_load: The widest access of one lane, in bits.
        workgroups_per_cluster: Workgroups of a cluster on each axis: one, as only
            gfx1250 has larger clusters.
        n_service_waves: Waves beside those that compute: none, as every wave
            computes here, and schedules load ahead.
    """

    threads_per_wave: int | None = None
    waves_per_block: tuple[int, ...] | None = None
    workgroups_per_cluster: tuple[int, ...] | None = None
    mma_type: MMAType | ScaledMMAType | GenericDot | str | None = None
    mma_rows: SurfaceOption = LEFT_OUT
    vector_shapes: Mapping[Any, Any] | tuple[tuple[str, Expr], ...] | None = None
    max_bits_per_load: int = 128
    n_service_waves: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.mma_type, (MMAType, ScaledMMAType, GenericDot)):
            self._set("mma_type", str(self.mma_type))
        self._check()

    def _check(self) -> None:
        """Refuse what means nothing, and what no chip has a use for."""
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
        cluster = self.workgroups_per_cluster
        if isinstance(cluster, list):
            self._set("workgroups_per_cluster", tuple(cluster))
        self._require("workgroups_per_cluster", _are_waves(cluster), _WORKGROUPS)
        service = is_count(self.n_service_waves)
        self._require("n_service_waves", service, "a number of waves, from 0 on")
        for name, help_ in _ABSENT.items():
            if _wants(getattr(self, name)):
                raise self._absent(name, help_)

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

    def _absent(self, name: str, help_: str) -> Exception:
        return user_error(
            "WV0330",
            f"no supported chip has a use for `{name}={getattr(self, name)}`",
            at=self.location,
            label="no kernel would be compiled any different for it",
            help=(help_, f"leave `{name}` out"),
        )

    @property
    def vector_shape(self) -> dict[str, Expr]:
        """The vector shapes by dimension name."""
        rows = self.vector_shapes or ()
        assert not isinstance(rows, Mapping), "converted on construction"
        return dict(rows)


def _wants(given: object) -> bool:
    """Whether something is asked for: a wave, or more than one workgroup."""
    counts: Any = given
    several = isinstance(given, tuple)
    return any(count != 1 for count in counts) if several else bool(given)


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

    The kernel then places its own work (persistent and stream-K kernels): workgroup
    offsets are added to indices only along the axes on which it sets the workgroup's
    coordinate, ``set_symbol(WORKGROUP_0, number_of_the_tile)``.
    """

    grid_size: SurfaceExpr


@constraint
class PlacedWorkgroups(Constraint):
    """The kernel sets the coordinate of its workgroup on axis ``workgroup_dim``.

    Tracing finds that out; authors have no need to write it.
    """

    workgroup_dim: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_axis("workgroup_dim")


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
