"""Executes lowered graphs on all lanes of all waves at once."""

from __future__ import annotations

from wave_sim_cpu.lanes.execute import run
from wave_sim_cpu.lanes.machine import Machine
from wave_sim_cpu.lanes.program import Program, Step
from wave_sim_cpu.lanes.rules import UNSUPPORTED, lane_rules
from wave_sim_cpu.lanes.value import Value, spread

__all__ = [
    "UNSUPPORTED",
    "Machine",
    "Program",
    "Step",
    "Value",
    "lane_rules",
    "run",
    "spread",
]
