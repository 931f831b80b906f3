"""Several copies of an LDS buffer, one for each iteration in flight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.ir import ACCESS, LANDING
from wave_core.ir.rewrite import redeclare
from wave_core.symbols import floordiv, mod

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.ir import Access, FactKind, Graph
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_core.ops.memory import Allocate
    from wave_core.symbols import Expr


@dataclass(frozen=True)
class MultipliedBuffer:
    """A buffer that has copies, and how it was.

    Attributes:
        buffer: The buffer.
        shape: Its extents before.
        rows: By op that touches it, which elements it touched before.
    """

    buffer: Allocate
    shape: tuple[Expr, ...]
    rows: Mapping[Op, Access]

    def undo(self, graph: Graph) -> None:
        """Make it one buffer again; its accesses are still those of before."""
        for op, row in self.rows.items():
            graph.facts.put(_side(graph, op), op, row)
        redeclare(self.buffer, distributed_shape=self.shape)


def multiply_buffer(
    graph: Graph, loop: Iterate, buffer: Allocate, accesses: Iterable[Op], count: int
) -> MultipliedBuffer:
    """Let iteration ``i`` of ``loop`` use copy ``i mod count`` of a buffer.

    The copies lie one after the other along the buffer's first dimension. Right only
    where every byte that an iteration reads was written in the same one.

    Args:
        graph: That of the loop.
        loop: The loop.
        buffer: What its iterations use; nothing outside the loop does.
        accesses: All ops that touch it.
        count: How many copies there are.
    """
    shape = buffer.distributed_shape
    first, *others = shape
    assert loop.induction is not None, "loops are numbered"
    iteration = floordiv(loop.induction - loop.start, loop.step)
    shift = mod(iteration, count) * first
    rows: dict[Op, Access] = {}
    for op in accesses:
        side = _side(graph, op)
        row = graph.facts.known(side, op)
        outer, *inner = row.coordinates
        coordinates = (outer + shift, *inner)
        graph.facts.put(side, op, replace(row, coordinates=coordinates))
        rows[op] = row
    redeclare(buffer, distributed_shape=(first * count, *others))
    return MultipliedBuffer(buffer, shape, rows)


def _side(graph: Graph, op: Op) -> FactKind[Access]:
    """Which row of an op is about the buffer: copies to LDS have one of each memory."""
    return ACCESS if graph.facts.get(LANDING, op) is None else LANDING
