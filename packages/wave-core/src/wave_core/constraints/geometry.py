"""Geometry: grid, waves, tiles, bases and limits, once symbols are bound.

Everything here is a pure function of the constraints and of the loops that an op
stands in; nothing is propagated through the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
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
    lanes_of,
    rows_of,
)
from wave_core.constraints.distribution import (
    DeviceConstraint,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
    device_symbol,
    placed_symbol,
    wave_symbol,
    workgroup_symbol,
)
from wave_core.constraints.fraction import fraction
from wave_core.constraints.hardware import (
    GridConstraint,
    PlacedWorkgroups,
    ReorderingConstraint,
)
from wave_core.constraints.machine import LANE
from wave_core.constraints.order import (
    BAND_ROWS,
    MOST_WORKGROUPS,
    DieOrder,
    Numbering,
    hardware_symbol,
)
from wave_core.constraints.symbolic import Assumption, SymbolicAlias, with_aliases
from wave_core.constraints.threads import of_waves
from wave_core.diagnostics import Collector, user_error
from wave_core.symbols import (
    Expr,
    Facts,
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
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wave_core.constraints.base import Constraint
    from wave_core.constraints.order import Definition
    from wave_core.diagnostics import Location
    from wave_core.targets import Target


T = TypeVar(
    "T", WorkgroupConstraint, WaveConstraint, DeviceConstraint, TilingConstraint
)


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
        in_step: How many neighbours of them run in step.
        in_reach: How many neighbours of them can shuffle.
        numbering: What workgroup symbols are of the coordinates that the hardware
            counts, in order of computation; nothing where they are the same.
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
        self._levels: dict[tuple[object, ...], tuple[Level, ...]] = {}
        self._extents: dict[str, Expr] = {}
        self.hardware = hardware_of(constraints, at)
        check_wave_size(self.hardware, target)
        self.lanes = lanes_of(constraints, target, bindings)
        self.in_step = target.in_step(self.lanes)
        self.in_reach = target.in_reach(self.lanes)
        check_sizes(constraints, self.bind)
        self._check_obligations(constraints)
        rows = with_aliases(constraints)
        self._groups = _bound_rows(rows, WorkgroupConstraint, self.bind)
        self._waves = _bound_rows(rows, WaveConstraint, self.bind)
        self._devices = _bound_rows(rows, DeviceConstraint, self.bind)
        self._tilings = _bound_rows(rows, TilingConstraint, self.bind)
        self._aliases = {
            str(c.source): str(c.target) for c in rows if isinstance(c, SymbolicAlias)
        }
        self._launch = next((c for c in rows if isinstance(c, GridConstraint)), None)
        self._placed = {
            c.workgroup_dim for c in rows if isinstance(c, PlacedWorkgroups)
        }
        self._assumptions = [c for c in rows if isinstance(c, Assumption)]
        with Collector().phase("constraints") as collector:
            check_unique(rows, collector)
            check_axes(self._groups, collector)
            check_waves(self._waves, self._groups, collector)
        self.devices = self._device_counts()
        self.grid = self._grid()
        self.numbering = self._numbering(rows, target)
        self.waves = self._wave_counts()
        check_threads(self, target)

    def bind(self, expr: Expr) -> Expr:
        """``expr`` with the known symbols replaced by their values."""
        return expr.subs(self._bindings)

    @property
    def mma_rows(self) -> int | None:
        """Rows of matrix instructions, where the kernel says how many.

        Raises:
            UserError: WV0327 where that is open until the launch.
        """
        rows = rows_of(self.hardware, self._bindings)
        if rows is None:
            return None
        if not rows.is_constant:
            raise user_error(
                "WV0327",
                f"`mma_rows` of HardwareConstraint is {rows}",
                at=self.hardware.location,
                label="not known before the launch",
                help="bind its symbols in `subs`",
            )
        return rows.constant_value

    def extent(self, dim: str) -> Expr:
        """The size of a dimension, in elements."""
        found = self._extents.get(dim)
        if found is None:
            found = self._extents[dim] = self.bind(parse_expr(dim))
        return found

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

    def loop_axis(self, dim: str) -> str:
        """The dimension whose loop moves tiles of ``dim``: itself, or its whole."""
        part = fraction(dim)
        return self._aliases.get(dim, dim) if part is None else str(part.whole)

    def only_names_a_place(self, dim: str) -> bool:
        """Whether ``dim`` is a coordinate on a grid axis that another dim sizes."""
        group = _along(dim, self._groups)
        return (
            group is not None and not group.primary and group.tile_size is constant(1)
        )

    def levels(self, dim: str, loops: Mapping[str, Expr]) -> tuple[Level, ...]:
        """The levels of the dimension's distribution, outermost first."""
        key = (dim, *loops.items())
        found = self._levels.get(key)
        if found is None:
            found = self._levels[key] = tuple(self._found_levels(dim, loops))
        return found

    def _found_levels(self, dim: str, loops: Mapping[str, Expr]) -> list[Level]:
        levels: list[Level] = []
        device = _along(dim, self._devices)
        if device is not None:
            start = device_symbol(device.device_dim) * device.tile_size
            levels.append(Level(start, device.tile_size))
        group = _along(dim, self._groups)
        if group is not None:
            levels.append(Level(self._group_start(group), group.tile_size))
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
        tiling = _along(axis, self._tilings)
        if tiling is None:
            raise user_error(
                "WV0311",
                f"a loop runs over `{axis}`, which has no TilingConstraint",
                at=at,
                help=(f"add TilingConstraint({axis}, tile)",),
            )
        if tiling.iters is not None:
            return tiling.iters
        outer = self.tile(axis, {})
        if tiling.start is not None:
            outer = outer - tiling.start
        return ceildiv(outer, self._loop_tile(tiling))

    @cached_property
    def facts(self) -> Facts:
        """Facts about the uniform symbols and ``$LANE``."""
        facts = Facts().with_range(LANE, 0, self.lanes - 1)
        for symbol_of, counts in (
            (workgroup_symbol, self.grid),
            (hardware_symbol, self.grid if self.numbering else ()),
            (device_symbol, self.devices),
            (wave_symbol, self.waves),
        ):
            for axis, count in enumerate(counts):
                facts = facts.with_range(symbol_of(axis), 0, count - 1)
        for name, _ in self.numbering[: -len(self.grid)]:
            facts = facts.with_range(name, 0, MOST_WORKGROUPS)
        for assumption in self._assumptions:
            facts = facts.with_assumption(self.bind(assumption.expr))
        return facts

    @property
    def waves_per_workgroup(self) -> int:
        """Waves of one workgroup."""
        return prod(self.waves)

    @property
    def threads(self) -> int:
        """Threads of one workgroup."""
        return self.waves_per_workgroup * self.lanes

    @property
    def groups_in_step(self) -> int:
        """Groups of lanes of one workgroup that run in step: what a SIMD counts."""
        return self.threads // self.in_step

    def split_among_waves(self, dim: str) -> int | None:
        """The axis whose waves share ``dim``, or ``None`` if one wave holds it all."""
        group = _along(dim, self._groups)
        if _along(dim, self._waves) is None or group is None:
            return None
        axis = group.workgroup_dim
        return axis if self.waves[axis] > 1 else None

    def spreading(self, dim: str) -> WorkgroupConstraint | DeviceConstraint | None:
        """The constraint that leaves a workgroup a part of ``dim`` only, if any does.

        One whose tile is proved to hold the whole dimension does not.
        """
        for row in (_along(dim, self._devices), _along(dim, self._groups)):
            if row and not self.facts.prove(le(self.extent(dim), row.tile_size)):
                return row
        return None

    def sharing(self, dim: str) -> WaveConstraint | None:
        """The constraint by which several waves share ``dim``, if they do."""
        shared = self.split_among_waves(dim) is not None
        return _along(dim, self._waves) if shared else None

    def idle_axes(self, dims: Iterable[str]) -> list[int]:
        """The axes along which all waves hold the same elements of a value."""
        used = {self.split_among_waves(dim) for dim in dims}
        waves = enumerate(self.waves)
        return [axis for axis, count in waves if count > 1 and axis not in used]

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

    def _group_start(self, group: WorkgroupConstraint) -> Expr:
        axis = group.workgroup_dim
        if self._launch is None:
            return group.start
        if axis not in self._placed:
            return constant(0)
        return group.start.subs({workgroup_symbol(axis): placed_symbol(axis)})

    def _wave_start(self, dim: str) -> Expr:
        wave, group = _along(dim, self._waves), _along(dim, self._groups)
        if wave is None or group is None:
            return constant(0)
        coordinate = wave_symbol(group.workgroup_dim)
        if wave.wave_id is not None:
            own = of_waves(wave.wave_id, self.lanes, len(self.waves))
            if own is None:
                raise _differs(wave)
            coordinate = own
        elif self.waves[group.workgroup_dim] == 1:
            coordinate = constant(0)
        return coordinate * wave.tile_size

    def _loop_tile(self, tiling: TilingConstraint) -> Expr:
        return constant(1) if tiling.tile_size is None else tiling.tile_size

    def _loop_level(self, dim: str, loops: Mapping[str, Expr]) -> Level | None:
        tiling = _along(dim, self._tilings)
        at = loops.get(dim, loops.get(self.loop_axis(dim)))
        if tiling is None or at is None:
            return None
        tile = self._loop_tile(tiling)
        start = constant(0) if tiling.start is None else tiling.start
        return Level(start + at * tile, tile)

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

    def _numbering(
        self, rows: Sequence[Constraint], target: Target
    ) -> tuple[Definition, ...]:
        numbering = Numbering(self.grid)
        for order in (row for row in rows if isinstance(row, DieOrder)):
            count = order.dies or target.dies
            if count > 1 or target.band_rows:
                band = order.rows or target.band_rows or BAND_ROWS
                numbering.give_to_dies(count, band)
        given = (row for row in rows if isinstance(row, ReorderingConstraint))
        numbering.reorder({r.workgroup_dim: self.bind(r.new_expr) for r in given})
        return numbering.definitions

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
        axes = max(len(self.grid), 1, *(g.workgroup_dim + 1 for g in self._groups))
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
    threads = geometry.threads
    if threads > target.max_workgroup_threads:
        raise user_error(
            "WV0317",
            f"a workgroup of {threads} threads exceeds the "
            f"{target.max_workgroup_threads} of target `{target.name}`",
            at=geometry.hardware.location,
            help=("use larger wave tiles or smaller workgroup tiles",),
        )


def _differs(wave: WaveConstraint) -> Exception:
    return user_error(
        "WV0156",
        "an expression here has one value for all lanes of a wave",
        at=wave.location,
        label="this constraint uses the number of a thread",
        help=(
            "waves are placed by `WaveConstraint(dim, tile)`",
            "`THREAD_0 // 64` is the number of a wave of 64 lanes",
        ),
    )


def _bound_rows(
    rows: Sequence[Constraint], kind: type[T], bind: Callable[[Expr], Expr]
) -> list[T]:
    """The constraints of one kind, with what bound symbols say."""
    return [_bound(row, bind) for row in rows if isinstance(row, kind)]


def _bound(row: T, bind: Callable[[Expr], Expr]) -> T:
    parts = {each.name: getattr(row, each.name) for each in fields(row)}
    given = {name: part for name, part in parts.items() if isinstance(part, Expr)}
    return replace(row, **{n: bind(e) for n, e in given.items() if n != "dim"})


def _along(dim: str, rows: Sequence[T]) -> T | None:
    """The constraint of ``dim``, or as it follows from that of its whole, if any."""
    found = next((row for row in rows if str(row.dim) == dim), None)
    part = fraction(dim) if found is None else None
    if part is None:
        return found
    whole = next((row for row in rows if row.dim is part.whole), None)
    return None if whole is None else part.row(whole)
