"""The plugin: both simulators as devices. Imports nothing expensive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from wave_core.plugin import ExecutorSpec, Fact, Phase, hookimpl
from wave_sim_cpu.codes_simulation import SIMULATION_CODES

if TYPE_CHECKING:
    from wave_core.diagnostics import Code

REQUIRES_API = (1, 1)


@hookimpl
def wave_register_executors() -> Iterable[ExecutorSpec]:
    """``sim`` executes lanes of the lowered graph, ``sim-logical`` whole tiles."""
    return (
        ExecutorSpec(
            "sim",
            "wave_sim_cpu.executor:LaneExecutor",
            requires={Fact.TYPED, Fact.INDEXED, Fact.EXPANDED, Fact.BOUNDED},
            summary="the CPU, lane by lane, with checks",
        ),
        ExecutorSpec(
            "sim-logical",
            "wave_sim_cpu.executor:TileExecutor",
            requires={Fact.TYPED},
            summary="the CPU, on whole tiles",
            stop_after=Phase.INFER,
        ),
    )


@hookimpl
def wave_register_diagnostics() -> Iterable[Code]:
    """Diagnostics that only the simulators make."""
    return SIMULATION_CODES
