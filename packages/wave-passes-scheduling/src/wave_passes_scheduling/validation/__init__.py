"""Changing a schedule by hand, within what dependences and resources allow."""

from __future__ import annotations

from wave_passes_scheduling.validation.moves import MoveResult
from wave_passes_scheduling.validation.moves import ScheduleValidator

__all__ = ["MoveResult", "ScheduleValidator"]
