"""Executes Wave kernels on the CPU: whole tiles, or lanes of the lowered graph.

``wave_sim_cpu.logical.run`` executes a graph on whole tiles and
``wave_sim_cpu.lanes.run`` executes the lowered graph lane by lane with checks. Both
modules load numpy; this one does not.
"""

from __future__ import annotations

from wave_core.executors import Snapshot as Snapshot
from wave_sim_cpu.options import Check as Check, SimulationOptions as SimulationOptions
from wave_sim_cpu.result import (
    Counters as Counters,
    SimulationResult as SimulationResult,
)
