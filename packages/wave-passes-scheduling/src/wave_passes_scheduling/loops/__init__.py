"""Loops of the IR as scheduling problems: kinds, costs, dependences."""

from __future__ import annotations

from wave_passes_scheduling.loops.analysis import ScheduledLoop, analyse
from wave_passes_scheduling.loops.costs import (
    CostProfile,
    profile_of,
    target_profile,
    unit_profile,
)
from wave_passes_scheduling.loops.kinds import OpKind, kind_of

__all__ = [
    "CostProfile",
    "OpKind",
    "ScheduledLoop",
    "analyse",
    "kind_of",
    "profile_of",
    "target_profile",
    "unit_profile",
]
