"""Targets as data."""

from __future__ import annotations

from wave_core.targets.base import (
    BankPhases,
    BarrierKind,
    BufferBounds,
    CostTable,
    Counter,
    Float8,
    MatrixInstruction,
    MemorySpec,
    RegisterFile,
    Target,
)
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
