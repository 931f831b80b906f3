"""Where an op stands: the loops around it, and what its tile is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ir import region_of
from wave_core.ops.control import Iterate
from wave_core.symbols import as_expr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


def loops_around(op: Op) -> dict[str, Expr]:
    """The induction symbols of the loops around ``op``, by axis name."""
    return loops_of(region_of(op))


def loops_of(region: Region) -> dict[str, Expr]:
    """The induction symbols of the loops around the ops of ``region``."""
    loops: dict[str, Expr] = {}
    for loop in enclosing_loops(region):
        if loop.induction is not None:
            loops.setdefault(str(loop.axis), loop.induction)
    return loops


def enclosing_loops(region: Region) -> list[Iterate]:
    """The loops around the ops of ``region``, from the inside out."""
    return [op for op in region.around if isinstance(op, Iterate)]


def induction_range(
    loop: Iterate, bind: Callable[[Expr], Expr]
) -> tuple[Expr, Expr, Expr] | None:
    """The induction symbol with its first and last value; ``None`` before numbering."""
    if loop.induction is None or loop.count is None:
        return None
    first = bind(as_expr(loop.start))
    return loop.induction, first, first + (bind(loop.count) - 1) * loop.step


def static_tile(op: Op, dims: Iterable[str], geometry: Geometry) -> dict[str, int]:
    """Elements of one wave's tile along ``dims`` where ``op`` stands.

    Raises:
        UserError: WV0302 for a tile whose size is not known at compile time.
    """
    loops = loops_around(op)
    tile: dict[str, int] = {}
    for dim in dims:
        size = geometry.tile(dim, loops)
        if not size.is_constant:
            raise _unbound_tile(op, dim, size)
        tile[dim] = size.constant_value
    return tile


def _unbound_tile(op: Op, dim: str, size: Expr) -> Exception:
    names = ", ".join(f"`{s}`" for s in sorted(size.free_symbols, key=str))
    return user_error(
        "WV0302",
        f"the tile of `{dim}` has no size at compile time: it depends on {names}",
        at=op.location,
        label=f"needs a tile of `{dim}`",
        help=(
            (
                f"distribute `{dim}` with a WorkgroupConstraint or loop over it with "
                "a TilingConstraint of a static tile"
            ),
            f"or bind {names} in WaveCompileOptions(subs={{...}})",
        ),
    )
