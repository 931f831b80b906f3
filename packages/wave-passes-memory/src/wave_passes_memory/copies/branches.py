"""Two versions of loads: one where a condition holds, one where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import insert_before, region_of, set_operands
from wave_core.ir.rewrite import end_region, place_like
from wave_core.ops.control import Conditional
from wave_core.ops.structure import GetResult
from wave_core.symbols import logical_not
from wave_passes_memory.staging.uniform import own_symbols

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Read
    from wave_core.symbols import Expr

    Emit = Callable[[Op], list[Op]]
    """Inserts ops before an op; the values that they are for."""


class Branches:
    """The branches of one kernel; copies of a region that ask alike share one."""

    def __init__(self, graph: Graph) -> None:
        # Where a symbol changes, loads stay where they are.
        self._apart = bool(own_symbols(graph))
        self._known: dict[tuple[int, Expr], tuple[_Branch, _Branch]] = {}

    def add(
        self, guard: Expr, front: Read, zeros: Emit, narrow: Emit, wide: Emit
    ) -> list[Op]:
        """The values of ``wide`` where ``guard`` holds, else those of ``narrow``.

        The results stand before ``front``; the loads there too, or before what stands
        before it and asked for the same guard.
        """
        key = id(region_of(front)), guard
        found = self._known.get(key)
        apart = self._apart or bool(front.indices)
        if found is None or apart or not _stands_before(found[1].op, front):
            found = _Branch(logical_not(guard), front), _Branch(guard, front)
            self._known[key] = found
        no, yes = found
        slow = no.add(zeros(no.op), narrow, yes.op)
        return yes.add(slow, wide, front)


def _stands_before(one: Op, other: Op) -> bool:
    return next(op for op in region_of(one).ops if op in (one, other)) is one


class _Branch:
    """A conditional that gets more results."""

    def __init__(self, condition: Expr, before: Op) -> None:
        self._body: Region = region_of(before).graph.region()
        self.op = Conditional.build((None, (), ()), {"expr": condition}, (self._body,))
        insert_before(before, self.op)
        self._end = end_region(self._body, (), before)

    def add(self, otherwise: Sequence[Op], emit: Emit, before: Op) -> list[Op]:
        """More results, inserted ``before`` an op: of ``emit``, or the other values."""
        count = len(self._end.operands)
        values = emit(self._end)
        set_operands(self._end, ((*self._end.operands, *values),))
        others = (*self.op.else_values, *otherwise)
        set_operands(self.op, (None, self.op.captures, others))
        found: list[Op] = []
        for position, value in enumerate(values, count):
            result = insert_before(before, GetResult(self.op, position))
            place_like(result, value)
            found.append(result)
        return found
