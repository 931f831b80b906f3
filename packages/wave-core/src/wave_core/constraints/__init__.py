"""How a kernel's dimensions spread over the machine."""

from __future__ import annotations

from wave_core.constraints.accuracy import (
    FastMath as FastMath,
    fast_math_of as fast_math_of,
)
from wave_core.constraints.base import (
    Constraint as Constraint,  # noqa: TC001 - others import it from here
    Kernel as Kernel,
    surface_expr as surface_expr,
)
from wave_core.constraints.check import lanes_of as lanes_of
from wave_core.constraints.distribution import (
    DeviceConstraint as DeviceConstraint,
    TilingConstraint as TilingConstraint,
    WaveConstraint as WaveConstraint,
    WorkgroupConstraint as WorkgroupConstraint,
    device_symbol as device_symbol,
    wave_symbol as wave_symbol,
    workgroup_symbol as workgroup_symbol,
)
from wave_core.constraints.hardware import (
    GridConstraint as GridConstraint,
    HardwareConstraint as HardwareConstraint,
    PlacedWorkgroups as PlacedWorkgroups,
    ReorderingConstraint as ReorderingConstraint,
)
from wave_core.constraints.order import (
    DieOrder as DieOrder,
    hardware_symbol as hardware_symbol,
)
from wave_core.constraints.symbolic import (
    Assumption as Assumption,
    IteratorBindings as IteratorBindings,
    SymbolicAlias as SymbolicAlias,
)
from wave_core.constraints.threads import (
    of_waves as of_waves,
    thread_counts as thread_counts,
    thread_dims as thread_dims,
    thread_rows as thread_rows,
    thread_symbol as thread_symbol,
    threads_symbol as threads_symbol,
)
from wave_core.constraints.tunable import Tunable as Tunable

BUILTIN_CONSTRAINTS: tuple[type[Constraint], ...] = (
    Assumption,
    DeviceConstraint,
    DieOrder,
    FastMath,
    GridConstraint,
    PlacedWorkgroups,
    HardwareConstraint,
    IteratorBindings,
    ReorderingConstraint,
    SymbolicAlias,
    TilingConstraint,
    Tunable,
    WaveConstraint,
    WorkgroupConstraint,
)
"""The constraints that the compiler itself understands; others stand for these."""
