"""Orders kept for another reason than values and LDS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.accesses import SharedAccess, shared_accesses
from wave_core.analysis.effects import touched_memories
from wave_core.ir import walk_op
from wave_core.ops.memory import Allocate
from wave_core.ops.sync import (
    SharedMemoryBarrier,
    SharedMemoryBarrierSignal,
    SharedMemoryBarrierWait,
    WaveFence,
)
from wave_core.ops.traits import Trait

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from wave_core.ir import Graph
    from wave_core.ops.base import Op

FENCES = (
    SharedMemoryBarrier,
    SharedMemoryBarrierSignal,
    SharedMemoryBarrierWait,
    WaveFence,
)
"""Ops whose author ordered what others write, and nothing besides."""


@dataclass(frozen=True, slots=True)
class OrderRow:
    """An op, and what of it matters to its order.

    Attributes:
        op: The op.
        touched: The memories that it touches, and whether it writes them.
        pinned: Whether it is, or holds, something that the author ordered.
        steady: Whether it touches nothing but global memory that no op writes.
    """

    op: Op
    touched: Mapping[Op, bool]
    pinned: bool
    steady: bool

    @property
    def bound(self) -> bool:
        """Whether the order of the op matters at all."""
        return self.pinned or bool(self.touched)

    def keeps(self, other: OrderRow) -> bool:
        """Whether the two ops stay in the order that they have."""
        if self.pinned or other.pinned:
            return not (_passes(self, other) or _passes(other, self))
        return self.meets(other) is not None

    def meets(self, other: OrderRow) -> Op | None:
        """A global memory that both touch, and one of them writes."""
        for memory, writes in self.touched.items():
            both = memory in other.touched and not isinstance(memory, Allocate)
            if both and (writes or other.touched[memory]):
                return memory
        return None


def _passes(one: OrderRow, other: OrderRow) -> bool:
    """Whether an op reads what is always the same, and the other only orders writes."""
    return one.steady and isinstance(other.op, FENCES)


def order_rows(graph: Graph, ops: Iterable[Op]) -> list[OrderRow]:
    """A row for each op, in the same order."""
    written = {memory for memory, writes in _touches(graph.walk()) if writes}
    return [_row(op, written) for op in ops]


def _row(op: Op, written: set[Op]) -> OrderRow:
    inside = list(walk_op(op))
    touched: dict[Op, bool] = {}
    for memory, writes in _touches(inside):
        touched[memory] = touched.get(memory, False) or writes
    pinned = any(each.has(Trait.ORDERED) for each in inside)
    same = all(not isinstance(m, Allocate) and m not in written for m in touched)
    return OrderRow(op, touched, pinned, steady=bool(touched) and same and not pinned)


def _touches(ops: Iterable[Op]) -> Iterator[tuple[Op, bool]]:
    """The memories that ops touch, and whether they write them."""
    for op in ops:
        for memory, effect in touched_memories(op):
            yield memory, effect.writes


def accesses_in(graph: Graph, ops: Collection[Op]) -> list[tuple[SharedAccess, Op]]:
    """The accesses of LDS in ``ops``, each with the one that it is or stands in."""
    return [
        (access, op)
        for access in shared_accesses(graph)
        for op in (*access.around, access.op)
        if op in ops
    ]
