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
from wave_core.diagnostics import user_error
from wave_core.symbols import Expr, ceildiv, symbol, sympy_symbol


def workgroup_symbol(axis: int) -> Expr:
    """The workgroup's coordinate on grid axis ``axis``."""
    return symbol(f"$WG{axis}")


def placed_symbol(axis: int) -> Expr:
    """The coordinate on one axis of the work that a kernel gave its workgroup."""
    return symbol(f"$PLACED{axis}")


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
    ``wg_constraint`` is the constraint that has the workgroup's tile: the one on
    ``dim``, which need not be said. Another one is refused.
    """

    dim: SurfaceExpr
    tile_size: SurfaceExpr
    wave_id: SurfaceOption = LEFT_OUT
    wg_constraint: WorkgroupConstraint | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.wg_constraint
        if given is None:
            return
        is_group = isinstance(given, WorkgroupConstraint)
        self._require("wg_constraint", is_group, "a WorkgroupConstraint, or nothing")
        if given.dim != self.dim:
            raise self._of_another(given)
        # It says nothing that the list of constraints does not say.
        self._set("wg_constraint", None)

    def _of_another(self, group: WorkgroupConstraint) -> Exception:
        return user_error(
            "WV0305",
            f"the waves split `{self.dim}`, and `wg_constraint` is about `{group.dim}`",
            at=self.location,
            secondary=((group.location, f"distributes `{group.dim}`"),),
            help="leave `wg_constraint` out: it is the one on the same dimension",
        )


@constraint
class TilingConstraint(Constraint):
    """Loop over ``dim`` in tiles of ``tile_size`` inside ``iterate(dim)``.

    Without a tile size the loop advances by one element. ``induction_var`` is a
    symbol for the number of the tile, in what the body of the loop says.
    """

    dim: SurfaceExpr
    tile_size: SurfaceOption = LEFT_OUT
    induction_var: SurfaceOption = LEFT_OUT
    iters: SurfaceOption = LEFT_OUT
    start: SurfaceOption = LEFT_OUT

    def __post_init__(self) -> None:
        super().__post_init__()
        name = self.induction_var
        named = name is None or name in name.free_symbols
        self._require("induction_var", named, "a symbol, or nothing")


@constraint
class DeviceConstraint(Constraint):
    """Split ``dim`` over device axis ``device_dim`` in parts of ``tile_size``."""

    dim: SurfaceExpr
    tile_size: SurfaceExpr
    device_dim: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_axis("device_dim", 3)
