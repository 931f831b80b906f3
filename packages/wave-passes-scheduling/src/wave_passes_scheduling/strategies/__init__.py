"""Strategies: which schedule a loop gets."""

from __future__ import annotations

from wave_passes_scheduling.strategies.staged import StageError
from wave_passes_scheduling.strategies.staged import staged_schedule
from wave_passes_scheduling.strategies.strategy import OWN
from wave_passes_scheduling.strategies.strategy import Strategy

__all__ = ["OWN", "StageError", "Strategy", "staged_schedule"]
