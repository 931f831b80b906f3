"""The symbols that ops use in their expressions, and those that they set."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from wave_core.ir import ACCESS, PLACEMENT, walk
from wave_core.ops.control import symbols_set_by
from wave_core.symbols import Expr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op


def expressions(graph: Graph, op: Op) -> Iterator[Expr]:
    """All index expressions of an op: its attributes and its rows of facts."""
    yield from computed_from(graph, op)
    placement = graph.facts.get(PLACEMENT, op)
    if placement is not None:
        for _, origin in placement.origin:
            yield origin


def computed_from(graph: Graph, op: Op) -> Iterator[Expr]:
    """The index expressions that decide about the value of an op."""
    for value in op.attributes.values():
        yield from _within(value)
    access = graph.facts.get(ACCESS, op)
    if access is not None:
        yield from access.coordinates
        if access.mask is not None:
            yield access.mask


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
    return frozenset(s for op in walk(region) for s in symbols_set_by(op))
