"""Whether ops mean the same in each iteration of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from wave_core.ir import ACCESS, PLACEMENT, walk
from wave_core.ops.control import SetSymbol
from wave_core.symbols import Expr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op


def expressions(graph: Graph, op: Op) -> Iterator[Expr]:
    """All index expressions of an op: its attributes and its rows of facts."""
    for value in op.attributes.values():
        yield from _within(value)
    access = graph.facts.get(ACCESS, op)
    if access is not None:
        yield from access.coordinates
        if access.mask is not None:
            yield access.mask
    placement = graph.facts.get(PLACEMENT, op)
    if placement is not None:
        for _, origin in placement.origin:
            yield origin


def _within(value: object) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for item in cast("tuple[object, ...]", value):
            yield from _within(item)


def mentions(graph: Graph, op: Op, symbols: frozenset[Expr]) -> bool:
    """Whether some expression of the op has one of the symbols."""
    return any(
        not expr.free_symbols.isdisjoint(symbols) for expr in expressions(graph, op)
    )


def symbols_set(region: Region) -> frozenset[Expr]:
    """The symbols that ops of a region set."""
    return frozenset(op.symbol for op in walk(region) if isinstance(op, SetSymbol))
