"""Geometry: grid, waves, tiles, bases and limits, once symbols are bound.

Everything here is a pure function of the constraints and of the loops that an op
stands in; nothing is propagated through the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, TypeVar

from wave_core.constraints.check import (
    check_axes,
    check_sizes,
    check_unique,
    check_wave_size,
    check_waves,
    hardware_of,
)
from wave_core.constraints.distribution import (
    DeviceConstraint,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
    device_symbol,
    wave_symbol,
    workgroup_symbol,
)
from wave_core.constraints.hardware import GridConstraint, ReorderingConstraint
from wave_core.constraints.machine import LANE
from wave_core.constraints.symbolic import Assumption, SymbolicAlias
from wave_core.diagnostics import Collector, user_error
from wave_core.symbols import (
    Expr,
    Facts,
    as_expr,
    ceildiv,
    constant,
    eq,
    le,
    lt,
    minimum,
    parse_expr,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.constraints.base import Constraint
    from wave_core.diagnostics import Location
    from wave_core.targets import Target


T = TypeVar("T", WorkgroupConstraint, WaveConstraint, DeviceConstraint)


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the distribution of a dimension: where its tile starts, its size."""

    start: Expr
    tile: Expr


class Geometry:
    """How the dimensions of one kernel spread over the machine.

    Attributes:
        grid: Workgroups on each axis.
        waves: Waves of a workgroup on each axis.
        devices: Devices on each device axis.
        hardware: The kernel's hardware constraint.
        lanes: Lanes of a wave.
        reorderings: The kernel's reorderings of workgroups.
    """

    def __init__(
        self,
        constraints: Sequence[Constraint],
        bindings: Mapping[Expr, int],
        target: Target,
        at: Location | None = None,
    ) -> None:
        """Bind the constraints.

        Raises:
            UserError: WV03xx where constraints contradict each other.
        """
        self._bindings = bindings
        self._at = at
        self.hardware = hardware_of(constraints, at)
        check_wave_size(self.hardware, target)
        self.lanes = target.wave_size
        check_sizes(constraints, self.bind)
        self._check_obligations(constraints)
        rows = [*constraints, *_aliases(constraints)]
        self._groups = _with_tiles(rows, WorkgroupConstraint, self.bind)
        self._waves = _with_tiles(rows, WaveConstraint, self.bind)
        self._devices = _with_tiles(rows, DeviceConstraint, self.bind)
        self._tilings = {str(c.dim): c for c in rows if isinstance(c, TilingConstraint)}
        self._launch = next((c for c in rows if isinstance(c, GridConstraint)), None)
        self.reorderings = [c for c in rows if isinstance(c, ReorderingConstraint)]
        self._assumptions = [c for c in rows if isinstance(c, Assumption)]
        with Collector().phase("constraints") as collector:
            check_unique(rows, collector)
            check_axes(self._groups, collector)
            check_waves(self._waves, self._groups, collector)
        self.devices = self._device_counts()
        self.grid = self._grid()
        self.waves = self._wave_counts()
        check_threads(self, target)

    def bind(self, expr: Expr) -> Expr:
        """``expr`` with the known symbols replaced by their values."""
        return expr.subs(self._bindings)

    def extent(self, dim: str) -> Expr:
        """The size of a dimension, in elements."""
        return self.bind(parse_expr(dim))

    def tile(self, dim: str, loops: Mapping[str, Expr]) -> Expr:
        """Elements of ``dim`` that one wave holds at a time."""
        levels = self.levels(dim, loops)
        return levels[-1].tile if levels else self.extent(dim)

    def base(self, dim: str, loops: Mapping[str, Expr]) -> Expr:
        """The global index of the first element of the wave's tile."""
        return total(level.start for level in self.levels(dim, loops))

    def local_base(self, dim: str, loops: Mapping[str, Expr], held: Expr) -> Expr:
        """The index of the tile's first element in a buffer of the workgroup.

        ``held`` is the buffer's extent along ``dim``, padding included. The
        workgroup's part is left out; the loop's part counts only where the buffer
        holds more than one tile of the loop.
        """
        start = self._wave_start(dim)
        loop = self._loop_level(dim, loops)
        if loop is not None and not self._holds_one(dim, held, loop.tile):
            start = start + loop.start
        return start

    def _holds_one(self, dim: str, held: Expr, tile: Expr) -> bool:
        """Whether a buffer is for one tile: padded at most, and not the whole dim."""
        if self.facts.prove(le(held, tile)):
            return True
        padded = self.facts.prove(lt(held, 2 * tile))
        return padded and not self.facts.prove(le(self.extent(dim), held))

    def limit(self, dim: str, loops: Mapping[str, Expr]) -> Expr:
        """The first index along ``dim`` beyond what the wave may touch.

        The end of the wave's own tile counts only where tiles overlap the end of
        the level above.
        """
        ends = [self.extent(dim)]
        start = constant(0)
        levels = self.levels(dim, loops)
        for outer, inner in pairwise(levels):
            start = start + outer.start
            if not self._nests(outer, inner):
                ends.append(start + outer.tile)
        return minimum(*ends)

    def levels(self, dim: str, loops: Mapping[str, Expr]) -> list[Level]:
        """The levels of the dimension's distribution, outermost first."""
        levels: list[Level] = []
        device = _along(dim, self._devices)
        if device is not None:
            start = device_symbol(device.device_dim) * device.tile_size
            levels.append(Level(start, device.tile_size))
        group = _along(dim, self._groups)
        if group is not None:
            start = constant(0) if self._launch is not None else group.start
            levels.append(Level(self.bind(start), group.tile_size))
        wave = _along(dim, self._waves)
        if wave is not None:
            levels.append(Level(self._wave_start(dim), wave.tile_size))
        loop = self._loop_level(dim, loops)
        if loop is not None:
            levels.append(loop)
        return levels

    def trip_count(self, axis: str, at: Location | None = None) -> Expr:
        """Number of iterations of a loop over ``axis``.

        Raises:
            UserError: WV0311 if no tiling constraint says how the loop advances.
        """
        tiling = self._tilings.get(axis)
        if tiling is None:
            raise user_error(
                "WV0311",
                f"a loop runs over `{axis}`, which has no TilingConstraint",
                at=at,
                help=(f"add TilingConstraint({axis}, tile)",),
            )
        if tiling.iters is not None:
            return self.bind(tiling.iters)
        outer = self.tile(axis, {})
        if tiling.start is not None:
            outer = outer - self.bind(tiling.start)
        return ceildiv(outer, self._loop_tile(tiling))

    def reorder(self, expr: Expr) -> Expr:
        """``expr`` with workgroup coordinates read as the reorderings say."""
        return expr.subs(
            {
                workgroup_symbol(r.workgroup_dim): self.bind(r.new_expr)
                for r in self.reorderings
            }
        )

    @cached_property
    def facts(self) -> Facts:
        """Facts about the uniform symbols and ``$LANE``."""
        facts = Facts().with_range(LANE, 0, self.lanes - 1)
        for symbol_of, counts in (
            (workgroup_symbol, self.grid),
            (device_symbol, self.devices),
            (wave_symbol, self.waves),
        ):
            for axis, count in enumerate(counts):
                facts = facts.with_range(symbol_of(axis), 0, count - 1)
        for assumption in self._assumptions:
            facts = facts.with_assumption(self.bind(assumption.expr))
        return facts

    @property
    def waves_per_workgroup(self) -> int:
        """Waves of one workgroup."""
        return prod(self.waves)

    def split_among_waves(self, dim: str) -> int | None:
        """The axis whose waves share ``dim``, or ``None`` if one wave holds it all."""
        group = _along(dim, self._groups)
        if _along(dim, self._waves) is None or group is None:
            return None
        axis = group.workgroup_dim
        return axis if self.waves[axis] > 1 else None

    def _check_obligations(self, constraints: Sequence[Constraint]) -> None:
        for row in constraints:
            for condition in row.obligations:
                bound = self.bind(condition)
                if bound.is_constant and not bound.constant_value:
                    raise user_error(
                        "WV0308",
                        f"a tile is not a whole number: `{condition}` does not hold",
                        at=row.location,
                        help=("choose sizes that divide",),
                    )

    def _wave_start(self, dim: str) -> Expr:
        wave, group = _along(dim, self._waves), _along(dim, self._groups)
        if wave is None or group is None:
            return constant(0)
        coordinate = wave_symbol(group.workgroup_dim)
        if wave.wave_id is not None:
            coordinate = self.bind(wave.wave_id)
        elif self.waves[group.workgroup_dim] == 1:
            coordinate = constant(0)
        return coordinate * wave.tile_size

    def _loop_tile(self, tiling: TilingConstraint) -> Expr:
        return constant(1) if tiling.tile_size is None else self.bind(tiling.tile_size)

    def _loop_level(self, dim: str, loops: Mapping[str, Expr]) -> Level | None:
        tiling = self._tilings.get(dim)
        if tiling is None or dim not in loops:
            return None
        tile = self._loop_tile(tiling)
        start = as_expr(0) if tiling.start is None else self.bind(tiling.start)
        return Level(start + loops[dim] * tile, tile)

    def _nests(self, outer: Level, inner: Level) -> bool:
        """Whether tiles of ``inner`` never reach beyond a tile of ``outer``."""
        if outer.tile.is_constant and inner.tile.is_constant:
            return outer.tile.constant_value % inner.tile.constant_value == 0
        return self.facts.prove(eq(outer.tile % inner.tile, constant(0)))

    def _grid(self) -> tuple[Expr, ...]:
        if self._launch is not None:
            return (self.bind(self._launch.grid_size),)
        primary = {g.workgroup_dim: g for g in self._groups if g.primary}
        return tuple(
            self._groups_along(primary[axis]) if axis in primary else constant(1)
            for axis in range(max(primary, default=0) + 1)
        )

    def _groups_along(self, group: WorkgroupConstraint) -> Expr:
        """Workgroups of one device along the axis that ``group`` sizes."""
        device = _along(str(group.dim), self._devices)
        if device is None or group.iters is not None:
            return self.bind(group.count)
        return ceildiv(device.tile_size, group.tile_size)

    def _device_counts(self) -> tuple[Expr, ...]:
        by_axis = {d.device_dim: d for d in self._devices}
        if set(by_axis) != set(range(len(by_axis))):
            raise user_error(
                "WV0319",
                "device axes are numbered 0, 1, ... without gaps",
                at=self._devices[0].location,
                help="number them from 0",
            )
        rows = (by_axis[axis] for axis in sorted(by_axis))
        return tuple(ceildiv(self.bind(d.dim), d.tile_size) for d in rows)

    def _wave_counts(self) -> tuple[int, ...]:
        axes = max(len(self.grid), 1)
        given = self.hardware.waves_per_block
        counts = [1] * axes if given is None else list(given)
        counts += [1] * (axes - len(counts))
        shares = [
            (wave, group.workgroup_dim, self._static(ratio, wave))
            for wave in self._waves
            if (group := _along(str(wave.dim), self._groups)) is not None
            and group.workgroup_dim < axes
            for ratio in [ceildiv(group.tile_size, wave.tile_size)]
        ]
        if given is None:
            for _, axis, count in shares:
                counts[axis] = count
        for wave, axis, count in shares:
            if wave.wave_id is None and counts[axis] != count:
                raise self._uneven(wave, axis, count, counts[axis])
        return tuple(counts)

    def _uneven(
        self, wave: WaveConstraint, axis: int, wanted: int, found: int
    ) -> Exception:
        given = self.hardware.waves_per_block is not None
        return user_error(
            "WV0325",
            f"the workgroup's tile of `{wave.dim}` is cut for {wanted} waves, axis "
            f"{axis} has {found}",
            at=wave.location,
            label=f"{wanted} waves",
            secondary=((self.hardware.location, f"{found} waves"),) if given else (),
            help=(
                "leave `waves_per_block` out: it follows from the wave constraints",
                "or make the wave tile fit it",
            ),
        )

    def _static(self, expr: Expr, row: Constraint) -> int:
        if expr.is_constant:
            return expr.constant_value
        names = ", ".join(f"`{s}`" for s in sorted(expr.free_symbols, key=str))
        raise user_error(
            "WV0301",
            f"{names} must be bound at compile time to size the workgroup",
            at=row.location,
            help=(f"give {names} a value in WaveCompileOptions(subs={{...}})",),
        )


def check_threads(geometry: Geometry, target: Target) -> None:
    """A workgroup must fit the machine.

    Raises:
        UserError: WV0317.
    """
    threads = geometry.waves_per_workgroup * geometry.lanes
    if threads > target.max_workgroup_threads:
        raise user_error(
            "WV0317",
            f"a workgroup of {threads} threads exceeds the "
            f"{target.max_workgroup_threads} of target `{target.name}`",
            at=geometry.hardware.location,
            help=("use larger wave tiles or smaller workgroup tiles",),
        )


def _with_tiles(
    rows: Sequence[Constraint], kind: type[T], bind: Callable[[Expr], Expr]
) -> list[T]:
    """The constraints of one kind, with the tiles that bound symbols give."""
    found = [row for row in rows if isinstance(row, kind)]
    return [replace(row, tile_size=bind(row.tile_size)) for row in found]


def _along(dim: str, rows: Sequence[T]) -> T | None:
    """The constraint of ``dim``, if there is one."""
    return next((row for row in rows if str(row.dim) == dim), None)


def _aliases(constraints: Sequence[Constraint]) -> list[Constraint]:
    """The constraints that aliases add for their source dimensions."""
    added: list[Constraint] = []
    for alias in (c for c in constraints if isinstance(c, SymbolicAlias)):
        for row in constraints:
            if (
                isinstance(row, WorkgroupConstraint | WaveConstraint | TilingConstraint)
                and row.dim is alias.target
                and row.tile_size is not None
            ):
                sizes_grid = isinstance(row, WorkgroupConstraint)
                shared = {"primary": False} if sizes_grid else {}
                tile = alias.apply(row.tile_size)
                added.append(replace(row, dim=alias.source, tile_size=tile, **shared))
    return added
