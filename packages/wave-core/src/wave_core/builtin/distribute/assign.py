"""The pass that gives every value a layout and makes all edges agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.builtin.distribute.rules import is_tile
from wave_core.builtin.distribute.solve import Solver
from wave_core.constraints import WaveConstraint, WorkgroupConstraint
from wave_core.ir import (
    PLACEMENT,
    capture,
    clone_op,
    insert_after,
    insert_before,
    region_of,
    resolve,
    set_operands,
    walk,
)
from wave_core.ops.shape import Relayout
from wave_core.ops.traits import Trait
from wave_core.passes import Pass
from wave_core.types import MemoryType

if TYPE_CHECKING:
    from wave_core.diagnostics import Collector
    from wave_core.ir import Graph, Placement, Region
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class AssignLayouts(Pass):
    """Give every register value a layout; convert where an edge needs another.

    Needs types and loop symbols. Sets the ``placement`` row of every register
    value. A use that needs another layout gets a copy of the producer if that is
    free (a read, a splat, an index), else a ``relayout``.

    Example::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `16`,
                workgroup_dim = 0)
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
        -   %x = read %a, [] : reg<M, f32>
        -   %y = exp2 %x : reg<M, f32>
        +   %x = read %a, [] : reg<M, f32>
        +       @placement(layout = #layout(64x1 {M: (lane/1%16)}))
        +   %y = exp2 %x : reg<M, f32>
        +       @placement(layout = #layout(64x1 {M: (lane/1%16)}))
            write %y, %b, []
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Solve, convert, and store the placements."""
        geometry = context.geometry(graph)
        warn_of_unused(graph, context.collector)
        solver = Solver(graph, geometry, context.target, context.tile_rules)
        solver.solve()
        edges = _Edges(graph, solver)
        for op in list(walk(graph.body)):
            edges.convert(op)
        edges.store()
        return True


def warn_of_unused(graph: Graph, collector: Collector) -> None:
    """Warn of constraints on dimensions that no value of the kernel has."""
    known = {dim for op in _values(graph) for dim in op.register_type.dims}
    for op in (*graph.parameters, *walk(graph.body)):
        if isinstance(op.type, MemoryType):
            known.update(op.type.dims)
    for row in graph.constraints:
        spread = isinstance(row, WorkgroupConstraint | WaveConstraint)
        if spread and str(row.dim) not in known:
            collector.warn(
                "WV0314",
                f"`{row.dim}` is distributed, and no value has that dimension",
                at=row.location,
                help=("check the name of the dimension, or remove the constraint",),
            )


class _Edges:
    """Makes what values have and what uses need agree."""

    def __init__(self, graph: Graph, solver: Solver) -> None:
        self._graph = graph
        self._solver = solver
        self._copies: dict[tuple[Op, Placement], Op] = {}
        self._placements: dict[Op, Placement] = {}

    def convert(self, op: Op) -> None:
        """Convert the operands of ``op`` that have the wrong layout."""
        operands = list(op.operands)
        changed = False
        for position, need in self._solver.demands(op):
            if self._solver.known(operands[position]) != need:
                operands[position] = self._converted(op, operands[position], need)
                changed = True
        if changed:
            set_operands(op, regroup(op, operands))

    def store(self) -> None:
        """Write the placement rows."""
        facts = self._graph.facts
        for op in _values(self._graph):
            placement = self._placements.get(resolve(op)) or self._solver.known(op)
            if placement is not None:
                facts.put(PLACEMENT, op, placement)

    def _converted(self, op: Op, value: Op, need: Placement) -> Op:
        """``value`` in the layout ``need``, for the use by ``op``."""
        producer = resolve(value)
        if producer.has(Trait.FLEXIBLE) and len(producer.operands) <= 1:
            return capture(region_of(op), self._copy(producer, need))
        moved = insert_before(op, Relayout(value))
        self._placements[moved] = need
        return moved

    def _copy(self, producer: Op, need: Placement) -> Op:
        key = (producer, need)
        if key not in self._copies:
            copy = clone_op(producer, {}, region_of(producer))
            self._copies[key] = insert_after(producer, copy)
            self._placements[copy] = need
        return self._copies[key]


def regroup(op: Op, operands: list[Op]) -> list[Op | tuple[Op, ...] | None]:
    """Flat operands as the operand slots of ``op``."""
    flat = iter(operands)
    slots: list[Op | tuple[Op, ...] | None] = []
    for slot in op.slots:
        if isinstance(slot, tuple):
            slots.append(tuple(next(flat) for _ in slot))
        else:
            slots.append(None if slot is None else next(flat))
    return slots


def _values(graph: Graph) -> list[Op]:
    found: list[Op] = []
    for region in _regions(graph):
        found.extend(a for a in region.arguments if is_tile(a))
        found.extend(op for op in region.ops if is_tile(op))
    return found


def _regions(graph: Graph) -> list[Region]:
    regions = [graph.body]
    for op in walk(graph.body):
        regions.extend(op.regions)
    return regions
