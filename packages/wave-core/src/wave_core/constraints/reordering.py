"""Whether reordered workgroup coordinates still visit every workgroup once."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from wave_core.constraints.distribution import workgroup_symbol
from wave_core.symbols import Tape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.constraints.hardware import ReorderingConstraint
    from wave_core.symbols import Expr


def permutes_grid(
    reorderings: Sequence[ReorderingConstraint],
    grid: tuple[int, ...],
    values: dict[Expr, int],
) -> bool:
    """Whether the reorderings map the workgroups of ``grid`` one to one onto it.

    ``values`` binds the size symbols in the expressions. Exact: every workgroup is
    looked at, once for each grid.
    """
    rows = tuple((r.workgroup_dim, r.new_expr.subs(values)) for r in reorderings)
    return _is_permutation(rows, grid)


@lru_cache(maxsize=256)
def _is_permutation(rows: tuple[tuple[int, Expr], ...], grid: tuple[int, ...]) -> bool:
    tape = Tape([expr for _, expr in rows])
    seen: set[tuple[int, ...]] = set()
    for number in range(prod(grid)):
        place = _coordinates(number, grid)
        env = {workgroup_symbol(axis): value for axis, value in enumerate(place)}
        moved = list(place)
        for (axis, _), value in zip(rows, tape.run(env), strict=True):
            moved[axis] = int(value)
        if not all(0 <= at < count for at, count in zip(moved, grid, strict=True)):
            return False
        seen.add(tuple(moved))
    return len(seen) == prod(grid)


def _coordinates(number: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    place: list[int] = []
    for count in grid:
        place.append(number % count)
        number //= count
    return tuple(place)
