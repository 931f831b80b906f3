"""How a kernel's dimensions spread over the machine."""

from __future__ import annotations

from wave_core.constraints.base import Constraint, Kernel, surface_expr
from wave_core.constraints.distribution import (
    DeviceConstraint,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
    device_symbol,
    wave_symbol,
    workgroup_symbol,
)
from wave_core.constraints.hardware import (
    GridConstraint,
    HardwareConstraint,
    ReorderingConstraint,
)
from wave_core.constraints.symbolic import Assumption, IteratorBindings, SymbolicAlias

BUILTIN_CONSTRAINTS: tuple[type[Constraint], ...] = (
    Assumption,
    DeviceConstraint,
    GridConstraint,
    HardwareConstraint,
    IteratorBindings,
    ReorderingConstraint,
    SymbolicAlias,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
"""The constraints that the compiler itself understands; others stand for these."""

__all__ = [
    "BUILTIN_CONSTRAINTS",
    "Assumption",
    "Constraint",
    "DeviceConstraint",
    "GridConstraint",
    "HardwareConstraint",
    "IteratorBindings",
    "Kernel",
    "ReorderingConstraint",
    "SymbolicAlias",
    "TilingConstraint",
    "WaveConstraint",
    "WorkgroupConstraint",
    "device_symbol",
    "surface_expr",
    "wave_symbol",
    "workgroup_symbol",
]
