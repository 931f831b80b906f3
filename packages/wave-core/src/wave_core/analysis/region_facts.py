"""Facts that hold where the ops of a region run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.loops import enclosing_loops, induction_range, loops_of
from wave_core.constraints.machine import REGISTER

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Region
    from wave_core.symbols import Expr, Facts


class RegionFacts:
    """Geometry of a kernel, and facts about the symbols in each of its regions."""

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self._facts: dict[tuple[Region, int, Expr | None], Facts] = {}

    def facts(
        self, region: Region, registers: int = 1, given: Expr | None = None
    ) -> Facts:
        """Facts in ``region`` for vectors of ``registers`` elements a lane.

        ``given`` is a condition that holds besides.
        """
        key = region, registers, given
        if key not in self._facts:
            facts = self._of_region(region)
            if given is not None:
                facts = facts.with_assumption(given)
            self._facts[key] = facts.with_range(REGISTER, 0, registers - 1)
        return self._facts[key]

    def limit(self, dim: str, region: Region) -> Expr:
        """The first index along ``dim`` beyond what the waves may touch there."""
        return self.geometry.limit(dim, loops_of(region))

    def _of_region(self, region: Region) -> Facts:
        facts = self.geometry.facts
        for loop in enclosing_loops(region):
            values = induction_range(loop, self.geometry.bind)
            assert values is not None, "loops are numbered before"
            facts = facts.with_range(*values)
        return facts
