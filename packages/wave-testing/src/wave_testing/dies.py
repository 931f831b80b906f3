"""What the dies of a chip fetch into their L2, by the order of the workgroups."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.constraints import hardware_symbol, workgroup_symbol
from wave_core.symbols import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.constraints.order import Definition
    from wave_core.symbols import Expr

Array = np.ndarray[Any, np.dtype[np.int64]]


def tiles_in_order(
    grid: tuple[int, ...],
    numbering: Sequence[Definition],
    sizes: Mapping[Expr, int] | None = None,
) -> list[Array]:
    """The coordinates of each workgroup's tile, as the hardware starts workgroups.

    Args:
        grid: Workgroups on each axis.
        numbering: That of a `Geometry`.
        sizes: Values of symbols that it leaves open.
    """
    counted = np.unravel_index(np.arange(prod(grid)), grid, order="F")
    values: dict[Expr, Any] = dict(sizes or {})
    symbol_of = hardware_symbol if numbering else workgroup_symbol
    values |= {symbol_of(axis): np.asarray(at) for axis, at in enumerate(counted)}
    for name, value in numbering:
        values[name] = evaluate(value, values)
    axes = range(len(grid))
    return [np.broadcast_to(values[workgroup_symbol(a)], prod(grid)) for a in axes]


def fetches(
    tiles: Sequence[Array], dies: int, at_once: int, axes: Sequence[int]
) -> int:
    """How often dies fetch a tile of an operand that depends on ``axes`` of the grid.

    A die runs ``at_once`` of its workgroups, then as many others; those that run
    together fetch a tile that they share once.
    """
    number = np.arange(tiles[0].size)
    held = (number % dies, number // dies // at_once, *(tiles[axis] for axis in axes))
    return len(np.unique(np.stack(held), axis=1)[0])
