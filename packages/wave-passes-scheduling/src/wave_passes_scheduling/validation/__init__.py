"""Changing a schedule by hand, within what dependences and resources allow."""

from __future__ import annotations

from wave_passes_scheduling.validation.moves import MoveResult, ScheduleValidator

__all__ = ["MoveResult", "ScheduleValidator"]
