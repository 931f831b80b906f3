"""Targets as data."""

from __future__ import annotations

from wave_core.targets.base import BankPhases
from wave_core.targets.base import MatrixInstruction
from wave_core.targets.base import MemorySpec
from wave_core.targets.base import Target
from wave_core.targets.generic import generic_target
from wave_core.targets.names import MMAType

__all__ = [
    "BankPhases",
    "MMAType",
    "MatrixInstruction",
    "MemorySpec",
    "Target",
    "generic_target",
]
