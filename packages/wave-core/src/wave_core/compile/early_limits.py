"""Limits of a machine that are known before a kernel is expanded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.capacity import check_carried
from wave_core.passes.observe import PassObserver
from wave_core.passes.phase import Phase

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.targets import Target


@dataclass
class EarlyLimits(PassObserver):
    """Refuses what no later pass can make fit the machine.

    Attributes:
        target: The machine.
        waves: Waves of a workgroup, which share the registers of a SIMD.
    """

    target: Target
    waves: int

    def after_phase(self, phase: Phase, graph: Graph) -> None:
        """Values have layouts: look at what loops carry.

        Raises:
            UserError: WV0605.
        """
        if phase == Phase.DISTRIBUTE:
            check_carried(graph, self.target, self.waves)
