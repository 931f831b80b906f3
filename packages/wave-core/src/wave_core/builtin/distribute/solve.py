"""Solving for layouts: anchors first, then sweeps until nothing changes.

A layout, once found, stays: anchors are processed by priority (ops whose rule needs no
operand's layout, such as matrix ops, then the leading accesses of what they do not
reach), each followed by forward and backward
sweeps in program order, so the outcome does not depend on the order of anything
else. What still differs on an edge afterwards is converted there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from wave_core.analysis.loops import static_tile
from wave_core.analysis.matrix import dims_of
from wave_core.backends.lowering import rules_of
from wave_core.builtin.distribute import rules
from wave_core.builtin.distribute.defaults import Lead, Shape, default_placement
from wave_core.builtin.distribute.matrix import MatrixPlacements, matrix_placements
from wave_core.builtin.distribute.permute import permuted
from wave_core.builtin.distribute.rules import is_tile, spreads, trivial, variable
from wave_core.diagnostics import user_error
from wave_core.ir import resolve
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Read, Write
from wave_core.ops.traits import Trait
from wave_core.passes.tile_rules import DEMAND, SUPPLY, table_of
from wave_core.types import iterator_symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wave_core.backends.lowering import AnyLowering
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph, Placement, Region
    from wave_core.ops.base import Op
    from wave_core.targets import Target


class Solver:
    """Finds a placement for every register value of a graph.

    Attributes:
        geometry: The bound constraints.
        target: The machine.
        ops: Arguments and ops in program order.
        matrix: What each matrix op asks for.
        placements: Those that were found.
    """

    def __init__(
        self,
        graph: Graph,
        geometry: Geometry,
        target: Target,
        more: Iterable[AnyLowering] = (),
    ) -> None:
        """Look up the rule of every op, among core's and ``more``."""
        self.geometry = geometry
        self.target = target
        self.ops = list(_in_order(graph.body))
        own, more = rules_of(rules), tuple(more)
        supplies, demands = (table_of(r, own, more) for r in (SUPPLY, DEMAND))
        self._supplies = {op: supplies.find(op) for op in self.ops if is_tile(op)}
        self._demands = {op: demands.find(op) for op in self.ops}
        self.matrix: dict[Op, MatrixPlacements] = {
            op: matrix_placements(op, geometry, target)
            for op in self.ops
            if isinstance(op, Mma)
        }
        self.placements: dict[Op, Placement] = {}

    def solve(self) -> None:
        """Assign every register value."""
        anchors = [(op, self._supply(op)) for op in self._supplies]
        anchors += [(op, trivial(op, self.geometry.lanes)) for op in self._supplies]
        for op, placement in anchors:
            if placement is not None:
                self._assign(op, placement)
        self._propagate()
        while (lead := self._next_lead()) is not None:
            self._assign(lead[0], self._default(*lead))
            self._propagate()

    def known(self, op: Op) -> Placement | None:
        """The placement of ``op``, if it is solved."""
        return self.placements.get(variable(op))

    def demands(self, op: Op) -> rules.Demands:
        """Demands of ``op`` on its operands, by position in ``operands``."""
        rule = self._demands.get(op)
        return iter(()) if rule is None else cast("rules.Demands", rule(op, self))

    def _supply(self, op: Op) -> Placement | None:
        """The placement that ``op`` gives its value, from what is known so far."""
        rule = self._supplies[op]
        return None if rule is None else cast("Placement | None", rule(op, self))

    def _assign(self, op: Op, placement: Placement) -> bool:
        key = variable(op)
        if key in self.placements or not is_tile(key):
            return False
        self.placements[key] = placement
        return True

    def _propagate(self) -> None:
        while self._forward() | self._backward():
            pass

    def _forward(self) -> bool:
        changed = False
        for op in self.ops:
            if op in self.matrix:
                self._settle_order(op)
            if op in self._supplies and self.known(op) is None:
                placement = self._supply(op)
                if placement is not None:
                    changed |= self._assign(op, placement)
        return changed

    def _settle_order(self, op: Op) -> None:
        """Take the order of K from the operand that has one, if the other is free."""
        rows = self.matrix[op]
        lhs, rhs, *_ = op.operands
        for fixed, free, want in ((lhs, rhs, rows.lhs), (rhs, lhs, rows.rhs)):
            have = self.known(fixed)
            if have is None or have == want or self.known(free) is not None:
                continue
            if isinstance(variable(free), Read):
                self.matrix[op] = permuted(rows, have) or rows
                return

    def _backward(self) -> bool:
        changed = False
        for op in reversed(self.ops):
            for position, placement in self.demands(op):
                value = op.operands[position]
                if self._takes_demands(value):
                    changed |= self._assign(value, placement)
        return changed

    def _takes_demands(self, value: Op) -> bool:
        return not variable(value).has(Trait.LAYS_OUT_ITSELF)

    def _next_lead(self) -> tuple[Op, Op] | None:
        """The value to give a default layout next, and the op that leads it."""
        unknown = [
            (value, op)
            for value, op in self._candidates()
            if self.known(value) is None and self._takes_demands(value)
        ]
        return min(unknown, key=self._rank, default=None)

    def _candidates(self) -> Iterator[tuple[Op, Op]]:
        """Values that may get a default layout, each with the op that leads it.

        An op that lays itself out leads its operands, since its own value follows them.
        """
        for op in self.ops:
            if op.has(Trait.LAYS_OUT_ITSELF):
                yield from ((value, op) for value in op.operands if is_tile(value))
            elif isinstance(op, Write):
                yield op.value, op
            elif is_tile(op):
                yield op, op

    def _rank(self, candidate: tuple[Op, Op]) -> tuple[int, int, int]:
        """Self-placing ops, writes, reads, the rest; more dimensions first."""
        value, op = candidate
        first = (op.has(Trait.LAYS_OUT_ITSELF), isinstance(op, Write))
        kind = (*first, isinstance(op, Read), True).index(True)
        return (kind, -len(dims_of(value)), op.ident)

    def _default(self, value: Op, anchor: Op) -> Placement:
        dims = dims_of(value)
        tile = static_tile(value, dims, self.geometry)
        shapes = self._vector_shapes(anchor)
        shape = Shape(
            tile, shapes, self.geometry.lanes, self.geometry.hardware.max_bits_per_load
        )
        return default_placement(_lead(value, anchor), shape)

    def _vector_shapes(self, anchor: Op) -> dict[str, int]:
        shapes: dict[str, int] = {}
        for dim, size in self.geometry.hardware.vector_shape.items():
            bound = self.geometry.bind(size)
            if not bound.is_constant:
                raise user_error(
                    "WV0310",
                    f"the vector shape of `{dim}` is `{bound}`, which is not known at "
                    "compile time",
                    at=self.geometry.hardware.location,
                    secondary=[(anchor.location, "needs it")],
                    help=("bind its symbols in WaveCompileOptions(subs={...})",),
                )
            shapes[dim] = bound.constant_value
        return shapes


def _lead(value: Op, anchor: Op) -> Lead:
    dims = value.register_type.dims
    fastest = dims[-1] if dims else None
    elements = None
    access = anchor if isinstance(anchor, Read | Write) else _read_behind(value)
    if access is not None:
        fastest = _fastest(access, dims) or fastest
        elements = access.elements_per_thread
    return Lead(dims, fastest, value.register_type.dtype.bits, elements)


def _read_behind(value: Op) -> Read | None:
    """The read that a value comes from, element by element, if there is one."""
    value = resolve(value)
    if isinstance(value, Read):
        return value
    if not spreads(value):
        return None
    dims = set(dims_of(value))
    for operand in value.operands:
        if is_tile(operand) and set(dims_of(operand)) == dims:
            found = _read_behind(operand)
            if found is not None:
                return found
    return None


def _fastest(access: Read | Write, dims: tuple[str, ...]) -> str | None:
    """The register dimension that walks the memory's innermost dimension."""
    if access.mapping is None:
        innermost = access.memory.memory_type.dims[-1]
        return innermost if innermost in dims else None
    last = access.mapping.coordinates[-1]
    for position, dim in reversed(list(enumerate(access.mapping.register_dims))):
        if iterator_symbol(position) in last.free_symbols:
            return dim
    return None


def _in_order(region: Region) -> Iterator[Op]:
    """Arguments and ops of a region and those within, in program order."""
    yield from (a for a in region.arguments if a.role != "capture")
    for op in region.ops:
        yield op
        for nested in op.regions:
            yield from _in_order(nested)
