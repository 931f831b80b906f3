"""What became of each op of a model: which kernel computes it, or why none does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

WAVE, EAGER, INDUCTOR, GRAPH = "wave", "eager", "inductor", "graph"
"""Who computes an op: a kernel of Wave, torch's own, Inductor; and of a function of
the model that has no kernel as a whole, the ops that torch makes of it."""

WIDEST = 60
"""Characters of a line that name ops; a chain has many. Its detail counts them."""


@dataclass(frozen=True)
class Placement:
    """Where one op of a graph went.

    Attributes:
        op: As torch names it, such as ``aten.addmm``.
        value: Type and shape of its result, such as ``f16[10, 48]``.
        place: Who computes it: `WAVE`, `EAGER`, `INDUCTOR` or `GRAPH`.
        detail: The kernel where it is one of Wave's, else why it is none.
    """

    op: str
    value: str
    place: str
    detail: str


@dataclass(frozen=True)
class GraphReport:
    """The ops of one graph, in order; views are none.

    Attributes:
        phase: ``functions`` for the model as it was written, of which only functions
            with a kernel of their own are listed; then ``inference``, or ``forward``
            and ``backward``.
        placements: Where each op went.
    """

    phase: str
    placements: tuple[Placement, ...]

    def count(self, place: str) -> int:
        """How many ops went there."""
        return sum(each.place == place for each in self.placements)


@dataclass(frozen=True)
class Report:
    """What `wave_torch.explain` found out; printed, it is a table.

    Attributes:
        graphs: In the order in which they were compiled.
    """

    graphs: tuple[GraphReport, ...]

    def placed(self, place: str) -> tuple[Placement, ...]:
        """The ops that went there, of all graphs."""
        every = (each for graph in self.graphs for each in graph.placements)
        return tuple(each for each in every if each.place == place)

    def __str__(self) -> str:
        """One line an op, with a heading and sums for each graph."""
        return "\n".join(line for graph in self.graphs for line in _lines(graph))


def _lines(graph: GraphReport) -> Iterator[str]:
    places = dict.fromkeys(each.place for each in graph.placements)
    sums = ", ".join(f"{graph.count(place)} {place}" for place in places)
    yield f"{graph.phase}: {sums or 'nothing to compute'}"
    rows = [(_short(p.op), p.value, p.place, p.detail) for p in graph.placements]
    if rows:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (c.ljust(w) for c, w in zip(row, widths, strict=True))
            yield f"  {'  '.join(cells)}".rstrip()


def _short(ops: str) -> str:
    return ops if len(ops) <= WIDEST else f"{ops[: WIDEST - 3]}..."
