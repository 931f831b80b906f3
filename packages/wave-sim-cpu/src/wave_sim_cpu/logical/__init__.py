"""Executes graphs on whole tiles, all waves at once."""

from __future__ import annotations

from wave_sim_cpu.logical.execute import UNSUPPORTED, logical_rules, run
from wave_sim_cpu.logical.state import State

__all__ = ["UNSUPPORTED", "State", "logical_rules", "run"]
