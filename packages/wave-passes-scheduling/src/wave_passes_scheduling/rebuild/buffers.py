"""Several copies of an LDS buffer, one for each iteration in flight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.ir import ACCESS, BOX, LANDING, resolve
from wave_core.ir.rewrite import redeclare
from wave_core.ops.matrix import Mma
from wave_core.symbols import floordiv, mod

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.ir import Access, Box, FactKind, Graph
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
        boxes: By operand that lies in it, the box that it covered before.
    """

    buffer: Allocate
    shape: tuple[Expr, ...]
    rows: Mapping[Op, Access]
    boxes: Mapping[Op, Box]

    def undo(self, graph: Graph) -> None:
        """Make it one buffer again; its accesses are still those of before."""
        for op, row in self.rows.items():
            graph.facts.put(_side(graph, op), op, row)
        for op, box in self.boxes.items():
            graph.facts.put(BOX, op, box)
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
    boxes: dict[Op, Box] = {}
    touching = (each for op in accesses for each in _with_rows(op, buffer))
    for op in dict.fromkeys(touching):
        side = _side(graph, op)
        row = graph.facts.known(side, op)
        outer, *inner = row.coordinates
        coordinates = (outer + shift, *inner)
        graph.facts.put(side, op, replace(row, coordinates=coordinates))
        rows[op] = row
        box = graph.facts.get(BOX, op)
        if box is not None:
            first_one, *rest = box.origin
            graph.facts.put(BOX, op, replace(box, origin=(first_one + shift, *rest)))
            boxes[op] = box
    redeclare(buffer, distributed_shape=(first * count, *others))
    return MultipliedBuffer(buffer, shape, rows, boxes)


def _with_rows(op: Op, buffer: Allocate) -> tuple[Op, ...]:
    """The ops whose rows say what ``op`` touches: of a product its operands."""
    if not isinstance(op, Mma):
        return (op,)
    return tuple(t for t in op.shared_tiles if resolve(t.memory) is buffer)


def _side(graph: Graph, op: Op) -> FactKind[Access]:
    """Which row of an op is about the buffer: copies to LDS have one of each memory."""
    return ACCESS if graph.facts.get(LANDING, op) is None else LANDING
