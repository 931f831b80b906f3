"""Checks that a list of constraints makes sense together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.constraints.base import shortened
from wave_core.constraints.distribution import (
    DeviceConstraint,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from wave_core.constraints.hardware import HardwareConstraint
from wave_core.constraints.order import DieOrder
from wave_core.diagnostics import user_error
from wave_core.symbols import Expr, SymbolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.constraints.base import Constraint
    from wave_core.diagnostics import Collector, Location
    from wave_core.targets import Target

#: Fields that are sizes or counts.
_SIZES = ("tile_size", "iters", "start", "grid_size", "wave_id")

#: The largest of them: indices of workgroups and tiles are 32 bits wide.
MAX_SIZE = 2**31 - 1

_TILED = (WorkgroupConstraint, WaveConstraint, TilingConstraint, DeviceConstraint)


def hardware_of(
    constraints: Sequence[Constraint], at: Location | None
) -> HardwareConstraint:
    """The one hardware constraint.

    Raises:
        UserError: WV0307 if there is none or more than one.
    """
    found = [c for c in constraints if isinstance(c, HardwareConstraint)]
    if len(found) == 1:
        return found[0]
    where = found[1].location if found else at
    raise user_error(
        "WV0307",
        f"a kernel needs exactly one HardwareConstraint, this one has {len(found)}",
        at=where,
        help="keep one of them" if found else "add HardwareConstraint()",
    )


def lanes_of(
    constraints: Sequence[Constraint],
    target: Target,
    bindings: Mapping[Expr, int] | None = None,
) -> int:
    """Lanes of a wave: what the kernel says, or its instruction, or else the target.

    Args:
        constraints: Those of the kernel.
        target: The machine.
        bindings: Values of symbols, as far as they are known.
    """
    for row in constraints:
        if isinstance(row, HardwareConstraint):
            return row.threads_per_wave or _of_instruction(row, target, bindings or {})
    return target.wave_size


def _of_instruction(
    hardware: HardwareConstraint, target: Target, bindings: Mapping[Expr, int]
) -> int:
    """Lanes of the instructions that are asked for: the usual, if some have them."""
    rows = target.matrix_instructions
    if hardware.mma_type is not None:
        found = [row.lanes for row in rows if row.name == hardware.mma_type]
    else:
        count = rows_of(hardware, bindings)
        known = count is not None and count.is_constant
        tall = count.constant_value if count is not None and known else 0
        found = [row.lanes for row in rows if row.shape[0] == tall]
    usual = not found or target.wave_size in found
    return target.wave_size if usual else found[0]


def rows_of(hardware: HardwareConstraint, bindings: Mapping[Expr, int]) -> Expr | None:
    """Rows that matrix instructions are asked to have; none for any number."""
    given = hardware.mma_rows
    if given is None:
        return None
    rows = given.subs(bindings)
    return None if rows.is_constant and not rows.constant_value else rows


def check_wave_size(hardware: HardwareConstraint, target: Target) -> None:
    """The kernel's wave must be one that the machine has.

    Raises:
        UserError: WV0318.
    """
    sizes = target.wave_sizes or (target.wave_size,)
    if hardware.threads_per_wave in (None, *sizes):
        return
    listed = ", ".join(map(str, sizes))
    several = len(sizes) > 1
    raise user_error(
        "WV0318",
        f"the kernel has waves of {hardware.threads_per_wave} lanes, "
        f"target `{target.name}` has {listed}",
        at=hardware.location,
        help=(
            f"`threads_per_wave` may be: {listed}; left out, it is {target.wave_size}"
            if several
            else f"write threads_per_wave={target.wave_size}, or leave it out",
        ),
    )


def check_sizes(
    constraints: Sequence[Constraint], bind: Callable[[Expr], Expr]
) -> None:
    """Tiles hold elements, and counts are not negative.

    Raises:
        UserError: WV0316 for a tile, WV0327 for a count, WV0308 where one has no
            value.
    """
    for row in constraints:
        for name in _SIZES:
            size: object = getattr(row, name, None)
            if not isinstance(size, Expr):
                continue
            try:
                bound = bind(size)
            except SymbolError as error:
                raise _no_value(row, size, error) from error
            least = 1 if name == "tile_size" else 0
            if bound.is_constant and not least <= bound.constant_value <= MAX_SIZE:
                raise _out_of_range(row, name, bound.constant_value)


def _out_of_range(row: Constraint, name: str, size: int) -> Exception:
    is_tile = name == "tile_size"
    what = "the tile" if is_tile else f"`{name}`"
    owner = getattr(row, "dim", type(row).__name__)
    return user_error(
        "WV0316" if is_tile else "WV0327",
        f"{what} of `{owner}` is {shortened(size)}, which is "
        + ("too large" if size > 0 else "not positive" if is_tile else "negative"),
        at=row.location,
        help=f"it is an integer from {1 if is_tile else 0} to {MAX_SIZE}",
    )


def _no_value(row: Constraint, size: Expr, error: Exception) -> Exception:
    return user_error(
        "WV0308",
        f"`{size}` has no value: {error}",
        at=row.location,
        help="bind symbols so that nothing is divided by zero",
    )


def check_unique(rows: Sequence[Constraint], collector: Collector) -> None:
    """A dimension has at most one tile of each kind, a kernel one order of dies."""
    first: dict[tuple[type[Constraint], str], Constraint] = {}
    for row in rows:
        if not isinstance(row, (*_TILED, DieOrder)):
            continue
        owner = "the kernel" if isinstance(row, DieOrder) else f"`{row.dim}`"
        other = first.setdefault((type(row), owner), row)
        if other is not row:
            collector.error(
                "WV0323",
                f"{owner} has two {type(row).__name__}s",
                at=row.location,
                secondary=[(other.location, "the first one")],
                help=("keep one of the two",),
            )


def check_axes(workgroups: Sequence[WorkgroupConstraint], collector: Collector) -> None:
    """Each axis that is used has one primary constraint; others have one workgroup."""
    primary: dict[int, WorkgroupConstraint] = {}
    for row in workgroups:
        if not row.primary:
            continue
        first = primary.setdefault(row.workgroup_dim, row)
        if first is not row:
            collector.error(
                "WV0306",
                f"workgroup axis {row.workgroup_dim} is sized twice, by `{first.dim}` "
                f"and by `{row.dim}`",
                at=row.location,
                secondary=[(first.location, "sized here first")],
                help=("mark all but one of them primary=False",),
            )
    axes = {row.workgroup_dim for row in workgroups}
    for axis in sorted(axes - set(primary)):
        at = next(r.location for r in workgroups if r.workgroup_dim == axis)
        collector.error(
            "WV0306",
            f"workgroup axis {axis} has no primary constraint",
            at=at,
            help=("leave out `primary=False` in one of them",),
        )


def check_waves(
    waves: Sequence[WaveConstraint],
    workgroups: Sequence[WorkgroupConstraint],
    collector: Collector,
) -> None:
    """Each wave tile lies within a workgroup tile and divides it."""
    by_dim = {row.dim: row for row in workgroups}
    for wave in waves:
        group = by_dim.get(wave.dim)
        if group is None:
            collector.error(
                "WV0305",
                f"`{wave.dim}` is split among waves but not among workgroups",
                at=wave.location,
                help=(f"add WorkgroupConstraint({wave.dim}, tile, axis)",),
            )
            continue
        _check_wave_tile(wave, group, collector)


def _check_wave_tile(
    wave: WaveConstraint, group: WorkgroupConstraint, collector: Collector
) -> None:
    if not (wave.tile_size.is_constant and group.tile_size.is_constant):
        return
    inner, outer = wave.tile_size.constant_value, group.tile_size.constant_value
    secondary = [(group.location, f"the workgroup's tile is {outer}")]
    if inner > outer:
        collector.error(
            "WV0304",
            f"the wave tile of `{wave.dim}` ({inner}) exceeds its workgroup tile "
            f"({outer})",
            at=wave.location,
            secondary=secondary,
            help=(f"use a wave tile of at most {outer}",),
        )
    elif inner > 0 and outer % inner:
        collector.error(
            "WV0303",
            f"the wave tile of `{wave.dim}` ({inner}) does not divide its workgroup "
            f"tile ({outer})",
            at=wave.location,
            secondary=secondary,
            help=("choose a wave tile that divides the workgroup tile",),
        )
