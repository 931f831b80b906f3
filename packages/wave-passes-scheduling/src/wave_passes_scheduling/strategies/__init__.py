"""Strategies: which schedule a loop gets."""

from __future__ import annotations

from wave_passes_scheduling.strategies.staged import StageError, staged_schedule
from wave_passes_scheduling.strategies.strategy import Strategy

__all__ = ["StageError", "Strategy", "staged_schedule"]
