"""Executes lowered graphs on all lanes of all waves at once."""

from __future__ import annotations

from wave_sim_cpu.lanes.execute import run as run
from wave_sim_cpu.lanes.machine import Machine as Machine
from wave_sim_cpu.lanes.program import Program as Program, Step as Step
from wave_sim_cpu.lanes.rules import (
    UNSUPPORTED as UNSUPPORTED,
    lane_rules as lane_rules,
)
from wave_sim_cpu.lanes.value import Value as Value, spread as spread
