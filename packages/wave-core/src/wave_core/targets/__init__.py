"""Targets as data."""

from __future__ import annotations

from wave_core.targets.base import (
    REGISTER as REGISTER,
    SHARED as SHARED,
    BankPhases as BankPhases,
    BarrierKind as BarrierKind,
    BufferBounds as BufferBounds,
    CostTable as CostTable,
    Counter as Counter,
    Float8 as Float8,
    MatrixInstruction as MatrixInstruction,
    MemorySpec as MemorySpec,
    Peaks as Peaks,
    RegisterFile as RegisterFile,
    Target as Target,
)
from wave_core.targets.exchange import Exchange as Exchange
from wave_core.targets.generic import (
    generic128_target as generic128_target,
    generic_target as generic_target,
)
from wave_core.targets.names import (
    GENERIC_DOT as GENERIC_DOT,
    GenericDot as GenericDot,
    MMAOperand as MMAOperand,
    MMAType as MMAType,
    ScaledMMAType as ScaledMMAType,
)
