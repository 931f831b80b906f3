"""The dependences between the ops of one region, in one pass over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.ir import walk
from wave_core.ops.control import SetSymbol
from wave_passes_scheduling.loops.order import order_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.ir import Graph
    from wave_core.ops.base import Op


@dataclass(frozen=True, slots=True)
class Edge:
    """``before`` has to stay before ``after``.

    Attributes:
        before: An op.
        after: A later one of the same region.
        reason: What it comes from: ``data``, ``memory`` (bytes of LDS in common),
            ``order`` (one global memory, or something that the author ordered).
        what: The memory, where there is one.
    """

    before: Op
    after: Op
    reason: str
    what: str = ""

    @property
    def text(self) -> str:
        """Reason and memory."""
        return f"{self.reason} {self.what}".strip()


def region_edges(graph: Graph, ops: Sequence[Op], known: Dependences) -> Iterator[Edge]:
    """The dependences between ``ops``, all those of one region but its terminator."""
    number = {op: i for i, op in enumerate(ops)}
    yield from _values(ops, number)
    yield from _shared(graph, number, known)
    yield from _ordered(graph, ops)


def _values(ops: Sequence[Op], number: Mapping[Op, int]) -> Iterator[Edge]:
    for op in ops:
        for value in dict.fromkeys(op.operands):
            if value in number:
                yield Edge(value, op, "data")


def _shared(
    graph: Graph, number: Mapping[Op, int], known: Dependences
) -> Iterator[Edge]:
    """Accesses of LDS that may touch a byte in common."""
    inside = list(_placed(graph, number))
    for at, (source, first) in enumerate(inside):
        for sink, second in inside[at + 1 :]:
            if first is not second and known.reach(source, sink):
                what = getattr(source.buffer, "label", "") or "LDS"
                yield Edge(first, second, "memory", str(what))


def _placed(
    graph: Graph, number: Mapping[Op, int]
) -> Iterator[tuple[SharedAccess, Op]]:
    """The accesses in a region, each with the op of the region that it is part of."""
    for access in shared_accesses(graph):
        for op in (*access.around, access.op):
            if op in number:
                yield access, op


def _ordered(graph: Graph, ops: Sequence[Op]) -> Iterator[Edge]:
    """The order of what touches one global memory, or was put where it is."""
    bound = [row for row in order_rows(graph, ops) if row.bound]
    for at, second in enumerate(bound):
        for first in bound[:at]:
            if first.keeps(second):
                memory = first.meets(second)
                label = getattr(memory, "label", None) or "global memory"
                what = "" if memory is None else str(label)
                yield Edge(first.op, second.op, "order", what)
    yield from _symbols(ops)


def _symbols(ops: Sequence[Op]) -> Iterator[Edge]:
    """Edges that keep ops in place which set a symbol: any op may use it."""
    setting = [
        i for i, op in enumerate(ops) if any(isinstance(o, SetSymbol) for o in _in(op))
    ]
    for at in setting:
        yield from (Edge(op, ops[at], "order", "of a symbol") for op in ops[:at])
        yield from (Edge(ops[at], op, "order", "of a symbol") for op in ops[at + 1 :])


def _in(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        yield from walk(region)
