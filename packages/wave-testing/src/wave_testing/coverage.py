"""The coverage theorem: waves, lanes and registers together cover every tile.

Every element of a dimension belongs to exactly one wave along the dimension's own
axis, and within the wave's tile each element is held equally often: once, but for
the replication that the layout declares by digits that no dimension uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from wave_core.analysis.loops import loops_around, loops_of
from wave_core.constraints import wave_symbol, workgroup_symbol
from wave_core.constraints.base import MAX_AXES
from wave_core.constraints.distribution import placed_symbol
from wave_core.constraints.geometry import Geometry
from wave_core.ir import PLACEMENT, Graph, Placement, regions
from wave_core.ops.constant import Splat
from wave_core.ops.control import Iterate
from wave_core.symbols import Expr, Layout, as_expr, symbol
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_core.ops import Op
    from wave_core.targets import Target


def coverage_problems(
    graph: Graph, target: Target, sizes: Mapping[str, int] | None = None
) -> list[str]:
    """Where the theorem does not hold; nothing where it holds.

    Args:
        graph: A graph with the fact indexed, before expansion.
        target: The machine.
        sizes: Values of the symbols that the graph leaves open.
    """
    values = {**graph.bindings, **{symbol(n): v for n, v in (sizes or {}).items()}}
    geometry = Geometry(graph.constraints, values, target, graph.location)
    found: list[str] = []
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for op in placed_values(graph):
        loops = _loops(op)
        tile = {d: int(str(geometry.tile(d, loops))) for d in _dims(op)}
        placement = graph.facts.known(PLACEMENT, op)
        found += _lanes(op, placement, tile)
        for dim in _dims(op):
            key = (dim, tuple(loops))
            if key not in seen:
                seen.add(key)
                found += _waves(geometry, dim, loops)
    return found


def _loops(op: Op) -> Mapping[str, Expr]:
    """The loops whose tile a value has: those around it.

    A constant that a loop carries has the tile of that loop. It is the same everywhere.
    """
    loops = loops_around(op)
    if isinstance(op, Splat):
        for user in op.users:
            if isinstance(user, Iterate) and op in user.inits:
                loops = loops | loops_of(user.body)
    return loops


def placed_values(graph: Graph) -> Iterator[Op]:
    """The register values that have a placement, arguments of regions included."""
    for region in regions(graph.body):
        for op in (*region.arguments, *region.ops):
            placed = graph.facts.get(PLACEMENT, op) is not None
            if placed and isinstance(op.type, RegisterType):
                yield op


def _dims(op: Op) -> tuple[str, ...]:
    return op.register_type.dims


def whole_layout(placement: Placement) -> Layout:
    """The layout of all steps: they become the outer register digits."""
    steps = {dim: (count, extent) for dim, count, extent in placement.steps}
    return placement.layout.tile(steps, list(steps)) if steps else placement.layout


def _lanes(op: Op, placement: Placement, tile: Mapping[str, int]) -> list[str]:
    if 0 in tile.values():
        return []
    layout = whole_layout(placement)
    coverage = layout.coverage(tile)
    slots = layout.lanes * layout.registers
    held = prod(d.mod for dim in layout.dims for d in layout.digits(dim))
    where = f"`{op.op_name}` {op.type} with {layout} on the tile {dict(tile)}"
    if coverage.missing:
        return [f"{where}: nobody holds {coverage.missing} elements"]
    wanted = slots // held
    if not coverage.min_multiplicity == coverage.max_multiplicity == wanted:
        held_times = f"{coverage.min_multiplicity} to {coverage.max_multiplicity} times"
        return [f"{where}: elements are held {held_times}, the layout says {wanted}"]
    return []


def _waves(geometry: Geometry, dim: str, loops: Mapping[str, Expr]) -> list[str]:
    """Every index belongs to one wave along the dimension, in one iteration."""
    base, limit = geometry.base(dim, loops), geometry.limit(dim, loops)
    tile = geometry.tile(dim, loops).constant_value
    extent = geometry.extent(dim).constant_value
    owners = [0] * extent
    for values in _coordinates(geometry, dim, base, loops):
        start = base.subs(values).constant_value
        end = min(start + tile, limit.subs(values).constant_value)
        for index in range(start, end):
            owners[index] += 1
    bad = [index for index, count in enumerate(owners) if count != 1]
    if not bad:
        return []
    where = f"dimension `{dim}` of {extent}{' in its loop' if dim in loops else ''}"
    return [f"{where}: index {bad[0]} belongs to {owners[bad[0]]} waves"]


def _coordinates(
    geometry: Geometry, dim: str, base: Expr, loops: Mapping[str, Expr]
) -> Iterator[dict[Expr, Expr]]:
    """All values of the coordinates that decide where a tile starts."""
    ranges: dict[Expr, int] = {}
    for axis, count in enumerate(geometry.grid):
        ranges[workgroup_symbol(axis)] = count.constant_value
    for axis in range(MAX_AXES):
        # A kernel may place its work anywhere; beyond the last tile there is none.
        ranges[placed_symbol(axis)] = geometry.extent(dim).constant_value
    for axis, count in enumerate(geometry.waves):
        ranges[wave_symbol(axis)] = count
    axis_of_loop = geometry.loop_axis(dim)
    if axis_of_loop in loops:
        # A workgroup may stop early (causal attention): the longest sees every index.
        trips = geometry.trip_count(axis_of_loop)
        longest = max(trips.subs(at).constant_value for at in _points(trips, ranges))
        ranges[loops[axis_of_loop]] = longest
    yield from _points(base, ranges)


def _points(expr: Expr, ranges: Mapping[Expr, int]) -> Iterator[dict[Expr, Expr]]:
    """All values of the coordinates that an expression depends on."""
    used = [s for s in ranges if s in expr.free_symbols]
    for values in product(*(range(ranges[s]) for s in used)):
        yield {s: as_expr(v) for s, v in zip(used, values, strict=True)}
