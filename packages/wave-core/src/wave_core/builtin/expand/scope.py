"""The region that expansion is filling, and the loops around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wave_core.constraints.machine import REGISTER

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Region
    from wave_core.symbols import Expr, Facts


@dataclass(frozen=True)
class Scope:
    """Where new ops go, and what holds there.

    Attributes:
        region: The new region.
        facts: What is known about the symbols in scope.
        loops: The iteration number of each loop around, by axis.
    """

    region: Region
    facts: Facts
    loops: dict[str, Expr] = field(default_factory=dict[str, "Expr"])
    whole: dict[str, bool] = field(default_factory=dict[str, bool])
    """Remembered proofs: whether the wave's tile lies within a dimension."""
    simplified: dict[tuple[Expr, int], Expr] = field(
        default_factory=dict["tuple[Expr, int]", "Expr"]
    )
    """Remembered simplifications, by expression and number of registers."""
    _register_facts: dict[int, Facts] = field(default_factory=dict[int, "Facts"])
    _bases: dict[str, Expr] = field(default_factory=dict[str, "Expr"])

    def base(self, dim: str, geometry: Geometry) -> Expr:
        """The global index of the first element of the wave's tile."""
        if dim not in self._bases:
            self._bases[dim] = geometry.base(dim, self.loops)
        return self._bases[dim]

    def register_facts(self, registers: int) -> Facts:
        """The facts, and that ``$REG`` counts ``registers`` registers."""
        if registers not in self._register_facts:
            facts = self.facts.with_range(REGISTER, 0, registers - 1)
            self._register_facts[registers] = facts
        return self._register_facts[registers]
