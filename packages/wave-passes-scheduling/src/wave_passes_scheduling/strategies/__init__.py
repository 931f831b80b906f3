"""Strategies: which schedule a loop gets."""

from __future__ import annotations

from wave_passes_scheduling.strategies.staged import (
    StageError as StageError,
    staged_schedule as staged_schedule,
)
from wave_passes_scheduling.strategies.strategy import Strategy as Strategy
