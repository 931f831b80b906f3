"""Constraints that spread dimensions: devices, workgroups, waves, loop tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wave_core.constraints.base import (
    LEFT_OUT,
    Constraint,
    SurfaceExpr,
    SurfaceOption,
    constraint,
)
from wave_core.symbols import Expr, ceildiv, symbol, sympy_symbol


def workgroup_symbol(axis: int) -> Expr:
    """The workgroup's coordinate on grid axis ``axis``."""
    return symbol(f"$WG{axis}")


def wave_symbol(axis: int) -> Expr:
    """The wave's coordinate in its workgroup on axis ``axis``."""
    return symbol(f"$WV{axis}")


def device_symbol(axis: int) -> Expr:
    """The device's coordinate on device axis ``axis``."""
    return symbol(f"$DD{axis}")


@constraint
class WorkgroupConstraint(Constraint):
    """Distribute ``dim`` over grid axis ``workgroup_dim`` in tiles of ``tile_size``.

    Any number of axes may be used; those beyond the hardware's are delinearised
    at launch. ``apply_fn`` maps the workgroup's coordinate to the start of its
    tile (default: coordinate * tile). A constraint with ``primary=False`` shares
    the axis of another one and does not size the grid; ``iters`` overrides the
    number of tiles.
    """

    dim: SurfaceExpr
    tile_size: SurfaceExpr
    workgroup_dim: int
    apply_fn: Callable[[Any], Any] | Expr | None = None
    primary: bool = True
    iters: SurfaceOption = LEFT_OUT

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_axis("workgroup_dim")
        self._require("primary", type(self.primary) is bool, "True or False")
        if self.apply_fn is not None:
            coordinate = sympy_symbol(workgroup_symbol(self.workgroup_dim))
            self._convert_call("apply_fn", coordinate)

    @property
    def start(self) -> Expr:
        """Where the workgroup's tile starts along ``dim``, in elements."""
        if isinstance(self.apply_fn, Expr):
            return self.apply_fn
        return workgroup_symbol(self.workgroup_dim) * self.tile_size

    @property
    def count(self) -> Expr:
        """Number of workgroups along the axis."""
        return ceildiv(self.dim, self.tile_size) if self.iters is None else self.iters


@constraint
class WaveConstraint(Constraint):
    """Split the workgroup's tile of ``dim`` among waves, ``tile_size`` to each.

    ``wave_id`` replaces the wave's coordinate on the workgroup's axis.
    """

    dim: SurfaceExpr
    tile_size: SurfaceExpr
    wave_id: SurfaceOption = LEFT_OUT


@constraint
class TilingConstraint(Constraint):
    """Loop over ``dim`` in tiles of ``tile_size`` inside ``iterate(dim)``.

    Without a tile size the loop advances by one element.
    """

    dim: SurfaceExpr
    tile_size: SurfaceOption = LEFT_OUT
    iters: SurfaceOption = LEFT_OUT
    start: SurfaceOption = LEFT_OUT


@constraint
class DeviceConstraint(Constraint):
    """Split ``dim`` over device axis ``device_dim`` in parts of ``tile_size``."""

    dim: SurfaceExpr
    tile_size: SurfaceExpr
    device_dim: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_axis("device_dim", 3)
