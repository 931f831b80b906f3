"""Loops of the IR as scheduling problems: kinds, costs, dependences."""

from __future__ import annotations

from wave_passes_scheduling.loops.analysis import ScheduledLoop
from wave_passes_scheduling.loops.analysis import analyse
from wave_passes_scheduling.loops.costs import CostProfile
from wave_passes_scheduling.loops.costs import profile_of
from wave_passes_scheduling.loops.costs import target_profile
from wave_passes_scheduling.loops.costs import unit_profile
from wave_passes_scheduling.loops.kinds import OpKind
from wave_passes_scheduling.loops.kinds import kind_of

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
