"""Longest paths through a loop, for every initiation interval at once."""

from __future__ import annotations

from wave_passes_scheduling.paths.longest import LongestPaths, longest_paths
from wave_passes_scheduling.paths.recurrence import Recurrence, recurrence_interval

__all__ = [
    "LongestPaths",
    "Recurrence",
    "longest_paths",
    "recurrence_interval",
]
