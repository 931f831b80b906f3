"""Executes lowered graphs on all lanes of all waves at once."""

from __future__ import annotations

from wave_sim_cpu.lanes.execute import run
from wave_sim_cpu.lanes.rules import UNSUPPORTED
from wave_sim_cpu.lanes.rules import lane_rules

__all__ = ["UNSUPPORTED", "lane_rules", "run"]
