"""Solving for layouts: anchors first, then sweeps until nothing changes.

A layout, once found, stays: anchors are processed by priority (ops whose rule needs no
operand's layout, such as matrix ops, then the leading accesses of what they do not
reach), each followed by forward and backward
sweeps in program order, so the outcome does not depend on the order of anything
else. What still differs on an edge afterwards is converted there.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, cast

from wave_core.analysis.loops import static_tile
from wave_core.backends.lowering import rules_of
from wave_core.builtin.distribute import rules
from wave_core.builtin.distribute.defaults import Lead, Shape, default_placement
from wave_core.builtin.distribute.matrix import MatrixPlacements, matrix_placements
from wave_core.builtin.distribute.parts import Parts
from wave_core.builtin.distribute.permute import permuted
from wave_core.builtin.distribute.rules import is_tile, spreads, trivial, variable
from wave_core.builtin.distribute.widths import operand_of
from wave_core.diagnostics import user_error
from wave_core.ir import resolve
from wave_core.ops.atomic import Atomic
from wave_core.ops.matrix import Mma, ScaledMma
from wave_core.ops.memory import Read, Write
from wave_core.ops.shape import Bitcast
from wave_core.ops.traits import Trait
from wave_core.passes.tile_rules import DEMAND, SUPPLY, table_of
from wave_core.targets import REGISTER
from wave_core.types import iterator_symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wave_core.backends.lowering import AnyLowering
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph, Placement, Region
    from wave_core.ops.base import Op
    from wave_core.targets import Target


class Agenda:
    """Positions that are due, taken in order, one sweep after another."""

    def __init__(self, positions: Iterable[int]) -> None:
        self._due = set(positions)
        self._ahead = sorted(self._due)
        self._next: list[int] = []
        self._at: int | None = None

    def __bool__(self) -> bool:
        """Whether something is due."""
        return bool(self._due)

    def add(self, position: int) -> None:
        """Let a position be due: in this sweep where it is ahead, or in the next."""
        if position not in self._due:
            self._due.add(position)
            ahead = self._at is None or position > self._at
            heappush(self._ahead if ahead else self._next, position)

    def sweep(self) -> Iterator[int]:
        """Take all that are due ahead, those included that become so on the way."""
        while self._ahead:
            self._at = position = heappop(self._ahead)
            self._due.discard(position)
            yield position
        self._ahead, self._next, self._at = self._next, [], None


Visit = tuple[Agenda, int]
"""A sweep and a position in it."""


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
        self._parts = Parts(self.ops)
        self.matrix: dict[Op, MatrixPlacements] = {
            op: self._parts.rows_of(op, matrix_placements(op, geometry, target))
            for op in self.ops
            if isinstance(op, Mma)
        }
        self.placements: dict[Op, Placement] = {}
        last = len(self.ops) - 1
        self._forward = Agenda(range(last + 1))
        self._backward = Agenda(range(-last, 1))
        self._place = {op: place for place, op in enumerate(self.ops)}
        self._visit: Visit | None = None
        self._waiting: dict[Op, set[Visit]] = defaultdict(set)

    def solve(self) -> None:
        """Assign every register value."""
        anchors = [(op, self._supply(op)) for op in self._supplies]
        anchors += [(op, trivial(op, self.geometry.lanes)) for op in self._supplies]
        for op, placement in anchors:
            if placement is not None:
                self._assign(op, placement)
        self._propagate()
        for value, op in sorted(self._candidates(), key=self._rank):
            if self.known(value) is None:
                placement = self._default(value, op)
                if self._takes(value, placement):
                    self._assign(value, placement)
                    self._propagate()

    def known(self, op: Op) -> Placement | None:
        """The placement of ``op``, if it is solved.

        A rule that asks for one that is not is called again once it is.
        """
        key = variable(op)
        found = self.placements.get(key)
        if found is None and self._visit is not None:
            self._waiting[key].add(self._visit)
        return found

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
        for agenda, position in self._waiting.pop(key, ()):
            agenda.add(position)
        return True

    def _propagate(self) -> None:
        while self._forward or self._backward:
            for position in self._visits(self._forward):
                self._take_supply(self.ops[position])
            for position in self._visits(self._backward):
                self._take_demands(self.ops[-position])

    def _visits(self, agenda: Agenda) -> Iterator[int]:
        """The positions of one sweep, each while its op is visited."""
        for position in agenda.sweep():
            self._visit = (agenda, position)
            yield position
        self._visit = None

    def _take_supply(self, op: Op) -> None:
        if op in self.matrix:
            self._settle_order(op)
        if op in self._supplies and self.known(op) is None:
            placement = self._supply(op)
            if placement is not None:
                self._assign(op, placement)

    def _settle_order(self, op: Op) -> None:
        """Take the order of K from the operand that has one, if the other is free."""
        if isinstance(op, ScaledMma):
            return  # the blocks that scales belong to fix the order
        rows = self.matrix[op]
        if not all(REGISTER in places for places in (rows.row.lhs_in, rows.row.rhs_in)):
            return  # what reads LDS by itself takes elements as they are stored
        lhs, rhs, *_ = op.operands
        for fixed, free, want in ((lhs, rhs, rows.lhs), (rhs, lhs, rows.rhs)):
            have = self.known(fixed)
            if have is None or have == want or self.known(free) is not None:
                continue
            if isinstance(variable(free), Read):
                self.matrix[op] = permuted(rows, have) or rows
                self._backward.add(-self._place[op])
                return

    def _take_demands(self, op: Op) -> None:
        for position, wanted in self.demands(op):
            value = op.operands[position]
            placement = self._parts.whole(value, wanted)
            if self._takes(value, placement):
                self._assign(value, placement)

    def _takes(self, value: Op, placement: Placement) -> bool:
        """Whether ``value`` can sit where others want it."""
        value = variable(value)
        if isinstance(value, Bitcast):
            return operand_of(value, placement) is not None
        return not value.has(Trait.LAYS_OUT_ITSELF)

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
        return (kind, -len(value.register_type.dims), op.ident)

    def _default(self, value: Op, anchor: Op) -> Placement:
        dims = value.register_type.dims
        tile = static_tile(value, dims, self.geometry)
        shapes = self._vector_shapes(anchor)
        shape = Shape(
            tile, shapes, self.geometry.lanes, self.geometry.hardware.max_bits_per_load
        )
        lead = _lead(value, anchor)
        placement = default_placement(lead, shape)
        if lead.elements is None and not self._parts.has_whole(value, placement):
            lead = replace(lead, elements=self._parts.together(value))
            placement = default_placement(lead, shape)
        return placement

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
    known = isinstance(anchor, Read | Write | Atomic)
    access = anchor if known else _read_behind(value)
    if access is not None:
        fastest = _fastest(access, dims) or fastest
        elements = access.elements_per_thread
        if elements is None and isinstance(access, Atomic):
            # One instruction updates one word of a lane, or a wider element.
            elements = max(1, 32 // access.memory_type.dtype.bits)
    return Lead(dims, fastest, value.register_type.dtype.bits, elements)


def _read_behind(value: Op) -> Read | None:
    """The read that a value comes from, element by element, if there is one."""
    value = resolve(value)
    if isinstance(value, Read):
        return value
    if not spreads(value):
        return None
    dims = set(value.register_type.dims)
    for operand in value.operands:
        if is_tile(operand) and set(operand.register_type.dims) == dims:
            found = _read_behind(operand)
            if found is not None:
                return found
    return None


def _fastest(access: Read | Write | Atomic, dims: tuple[str, ...]) -> str | None:
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
