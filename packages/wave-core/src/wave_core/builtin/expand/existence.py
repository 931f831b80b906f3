"""Which elements of a tile exist: masks for shapes that no tile divides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.builtin.distribute.placements import reach
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.symbols import Expr, le, logical_and, lt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.builtin.expand.scope import Scope
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Placement
    from wave_core.symbols import Layout


class Existence:
    """Conditions under which the elements of a piece exist.

    An element exists where its index lies below the dimension's limit and within
    the wave's tile. A condition that can be proved is left out; one that cannot be
    proved stays.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._within: dict[tuple[Layout, str], Expr] = {}

    def mask(
        self, placement: Placement, dims: Iterable[str], scope: Scope
    ) -> Expr | None:
        """The condition on ``$LANE`` and ``$REG``, or ``None`` if all exist."""
        conditions: list[Expr] = []
        for dim in dims:
            conditions.extend(self._conditions(placement, dim, scope))
        if not conditions:
            return None
        return self.simplify(logical_and(*conditions), placement.layout, scope)

    def tile_is_whole(self, dim: str, scope: Scope) -> bool:
        """Whether every element of every wave's tile is proved to exist."""
        if dim not in scope.whole:
            end = scope.base(dim, self._geometry) + self._tile(dim, scope)
            limit = self._geometry.limit(dim, scope.loops)
            scope.whole[dim] = scope.facts.prove(le(end, limit))
        return scope.whole[dim]

    def covers_exactly(self, placement: Placement, dim: str, scope: Scope) -> bool:
        """Whether all elements of all pieces along ``dim`` exist, by proof."""
        tile = self._tile(dim, scope)
        inside = tile.is_constant and reach(placement, dim) <= tile.constant_value
        return inside and self.tile_is_whole(dim, scope)

    def within(self, layout: Layout, dim: str) -> Expr:
        """The index of an element in its piece; pieces of a value share a layout."""
        key = (layout, dim)
        if key not in self._within:
            self._within[key] = layout.expr(dim, LANE, REGISTER)
        return self._within[key]

    def simplify(self, expr: Expr, layout: Layout, scope: Scope) -> Expr:
        """``expr`` at the registers of ``layout``, as simple as the facts allow."""
        key = (expr, layout.registers)
        if key not in scope.simplified:
            facts = scope.register_facts(layout.registers)
            scope.simplified[key] = facts.simplify(expr)
        return scope.simplified[key]

    def _tile(self, dim: str, scope: Scope) -> Expr:
        return self._geometry.tile(dim, scope.loops)

    def _conditions(self, placement: Placement, dim: str, scope: Scope) -> list[Expr]:
        origin = placement.origin_of(dim)
        assert origin is not None, "a piece has an origin in each of its dimensions"
        within = self.within(placement.layout, dim)
        base = scope.base(dim, self._geometry)
        conditions: list[Expr] = []
        extent = placement.layout.extent(dim)
        if not self.tile_is_whole(dim, scope):
            limit = self._geometry.limit(dim, scope.loops)
            if not scope.facts.prove(le(origin + extent, limit)):
                conditions.append(lt(origin + within, limit))
        tile = self._tile(dim, scope)
        local = origin - base
        if not scope.facts.prove(le(local + extent, tile)):
            conditions.append(lt(local + within, tile))
        return conditions
