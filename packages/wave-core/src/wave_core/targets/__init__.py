"""Targets as data."""

from __future__ import annotations

from wave_core.targets.base import BankPhases
from wave_core.targets.base import BarrierKind
from wave_core.targets.base import BufferBounds
from wave_core.targets.base import CostTable
from wave_core.targets.base import Counter
from wave_core.targets.base import Float8
from wave_core.targets.base import MatrixInstruction
from wave_core.targets.base import MemorySpec
from wave_core.targets.base import RegisterFile
from wave_core.targets.base import Target
from wave_core.targets.generic import generic_target
from wave_core.targets.names import MMAType

__all__ = [
    "BankPhases",
    "BarrierKind",
    "BufferBounds",
    "CostTable",
    "Counter",
    "Float8",
    "MMAType",
    "MatrixInstruction",
    "MemorySpec",
    "RegisterFile",
    "Target",
    "generic_target",
]
