"""Whether ops mean the same in each iteration of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from wave_core.ir import ACCESS, PLACEMENT, resolve, walk
from wave_core.ops.control import SetSymbol
from wave_core.ops.traits import EffectKind
from wave_core.symbols import Expr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op

_UNCHANGED = frozenset({EffectKind.READ, EffectKind.ALLOCATE, EffectKind.BARRIER})


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


def written_memories(region: Region) -> set[Op]:
    """The memories that ops of a region write, seen through captures."""
    found: set[Op] = set()
    for op in walk(region):
        found |= written_by(op)
    return found


def written_by(op: Op) -> set[Op]:
    """The memories that one op writes, ops within left out."""
    return {
        resolve(effect.memory)
        for effect in op.effects()
        if effect.memory is not None and effect.kind not in _UNCHANGED
    }


def symbols_set(region: Region) -> frozenset[Expr]:
    """The symbols that ops of a region set."""
    return frozenset(op.symbol for op in walk(region) if isinstance(op, SetSymbol))
