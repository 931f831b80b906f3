"""The simulators as devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_sim_cpu import lanes, logical
from wave_sim_cpu.options import SimulationOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.executors import LaunchRequest
    from wave_sim_cpu.result import SimulationResult


class LaneExecutor:
    """Executes lowered graphs lane by lane."""

    def launch(self, request: LaunchRequest) -> SimulationResult:
        """Run a lowered graph once; findings of the checks are in the result."""
        return _run(lanes.run, request)


class TileExecutor:
    """Executes typed graphs on whole tiles."""

    def launch(self, request: LaunchRequest) -> SimulationResult:
        """Run a typed graph once."""
        return _run(logical.run, request)


def _run(simulate: Callable[..., Any], request: LaunchRequest) -> SimulationResult:
    settings = request.settings
    return simulate(
        request.graph,
        request.host_arguments(),
        request.symbols,
        request.target,
        SimulationOptions(settings.checks, settings.poison_outputs),
        settings.lowerings,
    )
