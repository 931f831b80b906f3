"""Which symbols all waves of a workgroup agree on, and which regions they enter alike.

Waves agree on a register where each lane has the same in all of them. They agree on
everything until something says otherwise; that spreads from values to their users,
until nothing changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.effects import written_memories
from wave_core.analysis.loops import loops_of
from wave_core.analysis.symbol_uses import computed_from
from wave_core.ir import ACCESS, PLACEMENT, region_of, resolve
from wave_core.ops.constant import SelfIndex
from wave_core.ops.control import (
    Conditional,
    Iterate,
    SetSymbol,
    While,
    symbols_set_by,
)
from wave_core.ops.memory import Read
from wave_core.ops.structure import Argument, GetResult
from wave_core.ops.traits import Trait
from wave_core.types import RegisterType, dim_name

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


class Uniformity:
    """Tells what all waves of a workgroup have in common.

    Attributes:
        own: The symbols that the kernel sets.
        differing: Those of them that waves may disagree on.
    """

    def __init__(self, graph: Graph, geometry: Geometry | None = None) -> None:
        """Look at all ops.

        Args:
            graph: Where the waves run.
            geometry: Tells which elements they have, before the graph says it by
                itself: as long as no layouts are assigned.
        """
        ops = list(graph.walk())
        self.own = {s for op in ops for s in symbols_set_by(op)}
        self.differing: set[Expr] = set()
        self._graph = graph
        self._geometry = geometry
        self._values: set[Op] = set()
        if self.own:
            self._written = written_memories(graph.body)
            carried = [a for op in ops for each in op.regions for a in each.arguments]
            self._spread([*ops, *carried])

    def _spread(self, ops: list[Op]) -> None:
        found = -1
        while found != len(self.differing) + len(self._values):
            found = len(self.differing) + len(self._values)
            for op in ops:
                self._look_at(op)

    def reached_together(self, region: Region) -> bool:
        """Whether all waves of a workgroup run the ops of ``region`` equally often."""
        return all(self.together(op) for op in region.around)

    def together(self, op: Op) -> bool:
        """Whether all waves of a workgroup enter the regions of ``op`` alike."""
        if isinstance(op, Iterate):
            return op.count is None or self.same(op.count)
        if isinstance(op, While):
            return op.condition is not None and self.same(op.condition)
        if isinstance(op, Conditional):
            return op.expr is not None and self.same(op.expr)
        return True

    def same(self, expr: Expr) -> bool:
        """Whether an expression has one value in all waves of a workgroup."""
        used = expr.free_symbols
        return used.isdisjoint(self.differing) and not any(
            s.name.startswith("$WV") for s in used
        )

    def _look_at(self, op: Op) -> None:
        if isinstance(op, SetSymbol):
            if self._differs(op.value):
                self.differing.add(op.symbol)
        elif op.type is not None and op not in self._values and self._may_differ(op):
            self._values.add(op)
            self._name(op)

    def _name(self, op: Op) -> None:
        """A carried value that differs makes its symbol differ."""
        parent = region_of(op).parent
        if isinstance(op, Argument) and isinstance(parent, While):
            position = parent.body.arguments.index(op)
            self.differing.update(parent.symbols[position : position + 1])

    def _differs(self, value: Op) -> bool:
        return resolve(value) in self._values

    def _may_differ(self, op: Op) -> bool:
        if isinstance(op, Argument):
            return op.role == "carried" and self._carried(op)
        if isinstance(op, GetResult):
            return self._result(op)
        if not (op.has(Trait.PURE) or self._steady(op)):
            return True
        exprs = list(computed_from(self._graph, op))
        if isinstance(op, SelfIndex | Read):
            places = self._places(op)
            if places is None:
                return True
            exprs += places
        return any(map(self._differs, op.operands)) or not all(map(self.same, exprs))

    def _steady(self, op: Op) -> bool:
        """Whether an access reads what nobody writes."""
        return (
            isinstance(op, Read)
            and op.flags == "none"
            and resolve(op.memory) not in self._written
        )

    def _places(self, op: SelfIndex | Read) -> list[Expr] | None:
        """What decides which elements a wave has of it; nothing where that is open."""
        if self._geometry is not None:
            return self._tile(op, self._geometry)
        if isinstance(op, Read):
            return None if self._graph.facts.get(ACCESS, op) is None else []
        placement = self._graph.facts.get(PLACEMENT, op)
        return None if placement is None else [start for _, start in placement.origin]

    def _tile(self, op: SelfIndex | Read, geometry: Geometry) -> list[Expr]:
        kind, loops = op.type, loops_of(region_of(op))
        assert isinstance(kind, RegisterType), "both have tiles"
        mapping = op.mapping if isinstance(op, Read) else None
        starts = [geometry.base(dim_name(dim), loops) for dim in kind.shape]
        return [*starts, *(() if mapping is None else mapping.expressions)]

    def _carried(self, argument: Argument) -> bool:
        region = region_of(argument)
        loop = region.parent
        if not isinstance(loop, Iterate | While):
            # The elements that a scan combines lie in different lanes.
            return True
        position = region.arguments.index(argument)
        return self._differs(loop.inits[position]) or self._differs(
            region.end.operands[position]
        )

    def _result(self, op: GetResult) -> bool:
        source, position = op.source, op.position
        if isinstance(source, Iterate | While):
            value = source.body.arguments[position]
            return not self.together(source) or self._differs(value)
        if not isinstance(source, Conditional):
            return True
        if source.condition is not None and self._differs(source.condition):
            return True
        if source.expr is not None and not self.same(source.expr):
            return True
        other, value = source.else_values[position], source.body.end.operands[position]
        return self._differs(other) or self._differs(value)
