"""The simulators as devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_sim_cpu import lanes, logical
from wave_sim_cpu.options import SimulationOptions

if TYPE_CHECKING:
    from wave_core.executors import LaunchRequest
    from wave_sim_cpu.result import SimulationResult


class LaneExecutor:
    """Executes lowered graphs lane by lane."""

    _simulate = staticmethod(lanes.run)

    def launch(self, request: LaunchRequest) -> SimulationResult:
        """Run a graph once; findings of the checks are in the result."""
        settings = request.settings
        return self._simulate(
            request.graph,
            request.host_arguments(),
            request.symbols,
            request.target,
            SimulationOptions(settings.checks, settings.poison_outputs),
            settings.lowerings,
        )


class TileExecutor(LaneExecutor):
    """Executes typed graphs on whole tiles."""

    _simulate = staticmethod(logical.run)
