"""Schedules that authors write, carried out on the loops of their kernels."""

from __future__ import annotations

from wave_passes_scheduling.manual.carry import ManualLoop, Settings
from wave_passes_scheduling.manual.run import ManualRun

__all__ = ["ManualLoop", "ManualRun", "Settings"]
