"""Where an op stands: the loops around it, and what its tile is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.effects import touched_memories, written_memories
from wave_core.diagnostics import user_error
from wave_core.ir import region_of, resolve, walk
from wave_core.ops.atomic import Atomic
from wave_core.ops.control import Iterate, While, symbols_set_by
from wave_core.ops.memory import Read
from wave_core.ops.structure import Argument
from wave_core.symbols import as_expr, ceildiv, constant, maximum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wave_core.constraints.geometry import Geometry
    from wave_core.diagnostics import Location
    from wave_core.ir import Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr, Facts


def loops_around(op: Op) -> dict[str, Expr]:
    """The induction symbols of the loops around ``op``, by axis name."""
    return loops_of(region_of(op))


def loops_of(region: Region) -> dict[str, Expr]:
    """The induction symbols of the loops around the ops of ``region``."""
    loops: dict[str, Expr] = {}
    for loop in region.around:
        where = stands_at(loop)
        if where is not None:
            loops.setdefault(str(loop.attributes["axis"]), where)
    return loops


def stands_at(op: Op) -> Expr | None:
    """The symbol that tells an iteration's tile, for a loop over an axis."""
    if isinstance(op, Iterate):
        return op.induction
    return op.symbols[0] if isinstance(op, While) and op.axis is not None else None


def looks_at_others(loop: While) -> bool:
    """Whether a while loop reads anew what other workgroups may write meanwhile."""
    return any(
        (isinstance(op, Atomic) or (isinstance(op, Read) and op.is_volatile))
        and isinstance(resolve(op.memory), Argument)
        for op in walk(loop.body)
    )


def deciding_values(loop: While) -> tuple[int, ...] | None:
    """The carried values from which it follows whether there is another iteration.

    By position; ``None`` where memory takes part that the loop itself writes.
    """
    region, written = loop.body, written_memories(loop.body)
    carried = [each for each in region.arguments if each.role == "carried"]
    following = dict(zip(carried, region.end.operands, strict=True))
    named = 1 if loop.by_lane else len(loop.symbols)
    setting = [op for op in region.ops if any(map(symbols_set_by, _within(op)))]
    left: list[Op] = [*carried[:named], *setting]
    seen: set[Op] = set()
    while left:
        op = left.pop()
        if op in seen or op.owner is not region:
            continue
        seen.add(op)
        left += op.operands
        if isinstance(op, Argument) and op in following:
            left.append(following[op])
        touched = (row for each in _within(op) for row in touched_memories(each))
        if any(memory in written for memory, _ in touched):
            return None
    return tuple(i for i, each in enumerate(carried) if each in seen)


def _within(op: Op) -> Iterator[Op]:
    """An op, and those of its regions."""
    yield op
    for region in op.regions:
        yield from walk(region)


def enclosing_loops(region: Region) -> list[Iterate]:
    """The counted loops around the ops of ``region``, from the inside out."""
    return [op for op in region.around if isinstance(op, Iterate)]


def induction_range(
    loop: Iterate, bind: Callable[[Expr], Expr]
) -> tuple[Expr, Expr, Expr] | None:
    """The induction symbol with its first and last value; ``None`` before numbering."""
    if loop.induction is None or loop.count is None:
        return None
    first = bind(as_expr(loop.start))
    return loop.induction, first, first + (bind(loop.count) - 1) * loop.step


def counter_ranges(
    loops: Iterable[Iterate], bind: Callable[[Expr], Expr], facts: Facts
) -> dict[Expr, tuple[int | None, int | None]]:
    """The least and the greatest number of each counter, in whichever loop it counts.

    Loops beside each other share a counter, and where one ends another may begin.
    ``facts`` are those that hold before all of them.
    """
    found: dict[Expr, list[tuple[int | None, int | None]]] = {}
    for loop in loops:
        values = induction_range(loop, bind)
        if values is not None:
            counter, first, last = values
            ends = facts.bounds(first).lo, facts.bounds(last).hi
            found.setdefault(counter, []).append(ends)
    return {counter: _around(ends) for counter, ends in found.items()}


def _around(
    ends: Iterable[tuple[int | None, int | None]],
) -> tuple[int | None, int | None]:
    """The least of the lower ends and the greatest of all, as far as there are such.

    A loop that never runs ends before it begins: then there is no greatest one.
    """
    lows, highs = zip(*ends, strict=True)
    low = None if None in lows else min(lows)
    high = None if None in highs else max(highs)
    never = low is not None and high is not None and high < low
    return low, None if never else high


def iterations(
    axis: str, start: Expr, step: int, geometry: Geometry, at: Location | None
) -> Expr:
    """How often a loop over the tiles of ``axis`` runs.

    Raises:
        UserError: WV0311 where no constraint cuts the axis into tiles.
    """
    total, start = geometry.trip_count(axis, at), geometry.bind(start)
    if start is constant(0) and step == 1:
        return total
    return maximum(ceildiv(total - start, step), 0)


def trips(loop: Iterate, sizes: Mapping[Expr, int]) -> int:
    """How often the first wave runs through a counted loop."""
    if loop.count is None:
        return 1
    count = as_expr(loop.count).subs(sizes)
    count = count.subs(dict.fromkeys(count.free_symbols, 0))
    return max(0, count.constant_value)


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
