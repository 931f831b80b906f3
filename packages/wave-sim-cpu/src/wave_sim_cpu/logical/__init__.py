"""Executes graphs on whole tiles, all waves at once."""

from __future__ import annotations

from wave_sim_cpu.logical.execute import (
    UNSUPPORTED as UNSUPPORTED,
    logical_rules as logical_rules,
    run as run,
)
from wave_sim_cpu.logical.state import State as State
