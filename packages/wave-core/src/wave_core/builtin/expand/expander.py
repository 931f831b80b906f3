"""Unrolling a wave's tile into pieces of instruction size.

Every value becomes one piece for each step of its placement; a piece is known by
its step numbers, and its placement says where its elements sit. The new body is
built beside the old one, so an old op is never changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.builtin.distribute.placements import (
    Ids,
    ids_of,
    project,
    register_picks,
    restrict,
    starts,
)
from wave_core.builtin.distribute.rules import is_tile
from wave_core.builtin.expand.existence import Existence
from wave_core.builtin.expand.scope import Scope
from wave_core.diagnostics import internal_error
from wave_core.ir import PLACEMENT, Placement, capture, resolve
from wave_core.ops.compare import Select
from wave_core.ops.constant import LaneExpr, Splat
from wave_core.ops.shape import Assemble
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.backends.lowering import LoweringTable
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr, Layout
    from wave_core.targets import Target


class Expander:
    """Builds the expanded body of a graph.

    Attributes:
        graph: The graph; its old body is read, its tables get the new rows.
        geometry: The bound constraints.
        target: The machine.
        existence: Which elements of a tile exist.
    """

    def __init__(
        self,
        graph: Graph,
        geometry: Geometry,
        target: Target,
        rules: LoweringTable,
    ) -> None:
        self.graph = graph
        self.geometry = geometry
        self.target = target
        self.existence = Existence(geometry)
        self._rules = rules
        self._pieces: dict[Op, dict[Ids, Op]] = {}
        self._memories: dict[Op, Op] = {}
        self.results: dict[Op, tuple[Op, tuple[int, ...]]] = {}
        """For each old op with results the new one, and where each result starts."""
        self._root = graph.region()
        self._picks: dict[tuple[Layout, Layout], tuple[int, ...] | None] = {}

    def run(self) -> Region:
        """The new body."""
        old = self.graph.body
        new = self._root
        for parameter in old.arguments:
            assert parameter.type is not None, "parameters are values"
            argument = new.add_argument(
                "parameter", parameter.label, parameter.type, parameter.location
            )
            self._define_parameter(parameter, argument)
        self.region(old, Scope(new, self.geometry.facts))
        return new

    def _define_parameter(self, old: Op, new: Op) -> None:
        if is_tile(new):
            placement = self.placement(old)
            self.graph.facts.put(PLACEMENT, new, placement)
            self._pieces[old] = {(): new}
        else:
            self.define_memory(old, new)

    def region(self, old: Region, scope: Scope) -> None:
        """Expand the ops of ``old`` into the region of ``scope``."""
        for op in old.ops:
            self._rules.select(op)(self, op, scope)

    def fault_of(self, op: Op, found: object) -> str:
        """The pieces of ``op`` that its rule, which gives ``found``, has left out."""
        del found
        if not is_tile(op):
            return ""
        have = self._pieces.get(op, {})
        missing = [ids for ids in ids_of(self.placement(op)) if ids not in have]
        return f"it defines no piece {missing[0]}" if missing else ""

    def placement(self, op: Op) -> Placement:
        """The placement that the old graph gives ``op``."""
        found = self.graph.facts.get(PLACEMENT, op)
        if found is None:
            raise internal_error("WV9903", f"`{op.op_name}` has no placement")
        return found

    def emit(self, old: Op, new: Op, scope: Scope) -> Op:
        """Append ``new`` with the location and tags of ``old``."""
        if new.location is None:
            new.location = old.location
        new.tags |= old.tags
        return scope.region.append(new)

    def hoist(self, old: Op, new: Op) -> Op:
        """Insert ``new`` at the top of the kernel's body."""
        new.location = old.location
        return self._root.prepend(new)

    def piece_placement(self, op: Op, ids: Ids, scope: Scope) -> Placement:
        """Where the elements of piece ``ids`` of ``op`` sit."""
        whole = self.placement(op)
        offsets = starts(whole, ids)
        origin = tuple(
            (dim, scope.base(dim, self.geometry) + offsets.get(dim, 0))
            for dim in sorted(op.register_type.dims)
        )
        return Placement(whole.layout, (), origin)

    def define(self, old: Op, ids: Ids, new: Op, scope: Scope) -> Op:
        """Make ``new`` piece ``ids`` of ``old`` and give it its placement."""
        self.place(old, ids, new, scope)
        self._pieces.setdefault(old, {})[ids] = new
        return new

    def place(self, old: Op, ids: Ids, new: Op, scope: Scope) -> None:
        """Give ``new`` the placement of piece ``ids`` of ``old``, if it has none."""
        facts = self.graph.facts
        if is_tile(new) and facts.get(PLACEMENT, new) is None:
            facts.put(PLACEMENT, new, self.piece_placement(old, ids, scope))

    def define_memory(self, old: Op, new: Op) -> None:
        """Make ``new`` stand for the memory ``old``."""
        self._memories[old] = new

    def memory(self, old: Op, scope: Scope) -> Op:
        """The stand-in for a memory, as seen in the region of ``scope``."""
        return capture(scope.region, self._memories[resolve(old)])

    def piece(self, old: Op, ids: Ids, scope: Scope) -> Op:
        """Piece ``ids`` of ``old`` in the region of ``scope``."""
        return capture(scope.region, self._pieces[resolve(old)][ids])

    def masked_piece(
        self,
        user: Op,
        old: Op,
        ids: Ids,
        dims: Iterable[str],
        filler: float,
        scope: Scope,
    ) -> Op:
        """Piece ``ids`` of ``old`` with ``filler`` where elements do not exist.

        The piece itself where all its elements are proved to exist along ``dims``.
        """
        piece = self.piece(old, ids, scope)
        placement = self.piece_placement(old, ids, scope)
        condition = self.existence.mask(placement, dims, scope)
        if condition is None:
            return piece
        kind = piece.register_type
        lane_condition = LaneExpr(condition, kind.shape, DTYPES["bool"])
        exists = self.emit(user, lane_condition, scope)
        fill = self.emit(user, Splat(kind.shape, kind.dtype, filler), scope)
        chosen = self.emit(user, Select(exists, piece, fill), scope)
        for op in (exists, fill, chosen):
            self.graph.facts.put(PLACEMENT, op, placement)
        return chosen

    def pieces(self, old: Op, scope: Scope) -> list[Op]:
        """All pieces of ``old``, in order of their step numbers."""
        return [self.piece(old, ids, scope) for ids in ids_of(self.placement(old))]

    def operand(self, user: Op, ids: Ids, value: Op, scope: Scope) -> Op:
        """The piece of ``value`` that goes with piece ``ids`` of ``user``.

        One register may stand for all of the user's; other differences in registers
        are assembled.
        """
        whole = self.placement(user)
        part = project(whole, value.register_type.dims)
        piece = self.piece(value, restrict(ids, whole, part), scope)
        if part.layout.registers in (whole.layout.registers, 1):
            return piece
        shape = piece.register_type.shape
        layouts = (part.layout, whole.layout)
        wide = self.spread(user, piece, shape, layouts, scope)
        layout = whole.layout.only(piece.register_type.dims)
        self.graph.facts.put(PLACEMENT, wide, Placement(layout))
        return wide

    def spread(
        self,
        user: Op,
        piece: Op,
        shape: tuple[Expr, ...],
        layouts: tuple[Layout, Layout],
        scope: Scope,
    ) -> Op:
        """A piece as a vector of ``shape``, from the first layout to the second.

        The first one is a projection of the second.
        """
        picks = self.picks(*layouts)
        assert picks is not None, "a projection has the elements in the same lanes"
        pairs = tuple((0, register) for register in picks)
        return self.emit(user, Assemble((piece,), pairs, shape), scope)

    def picks(self, have: Layout, want: Layout) -> tuple[int, ...] | None:
        """``register_picks``, remembered."""
        key = (have, want)
        if key not in self._picks:
            self._picks[key] = register_picks(have, want)
        return self._picks[key]
