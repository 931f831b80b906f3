"""How a kernel's dimensions spread over the machine."""

from __future__ import annotations

from wave_core.constraints.base import Constraint
from wave_core.constraints.base import surface_expr
from wave_core.constraints.distribution import DeviceConstraint
from wave_core.constraints.distribution import TilingConstraint
from wave_core.constraints.distribution import WaveConstraint
from wave_core.constraints.distribution import WorkgroupConstraint
from wave_core.constraints.distribution import device_symbol
from wave_core.constraints.distribution import wave_symbol
from wave_core.constraints.distribution import workgroup_symbol
from wave_core.constraints.hardware import GridConstraint
from wave_core.constraints.hardware import HardwareConstraint
from wave_core.constraints.hardware import ReorderingConstraint
from wave_core.constraints.symbolic import Assumption
from wave_core.constraints.symbolic import IteratorBindings
from wave_core.constraints.symbolic import SymbolicAlias

__all__ = [
    "Assumption",
    "Constraint",
    "DeviceConstraint",
    "GridConstraint",
    "HardwareConstraint",
    "IteratorBindings",
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
