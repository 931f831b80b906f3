"""Element types, tiles, memories and index mappings."""

from __future__ import annotations

from wave_core.types.dtype import ALL_DTYPES, DTYPES, DType, Family
from wave_core.types.mapping import AccessMapping, dynamic_symbol, iterator_symbol
from wave_core.types.shaped import (
    AddressSpace,
    MemoryType,
    RegisterType,
    Type,
    Usage,
    dim_name,
)

__all__ = [
    "ALL_DTYPES",
    "DTYPES",
    "AccessMapping",
    "AddressSpace",
    "DType",
    "Family",
    "MemoryType",
    "RegisterType",
    "Type",
    "Usage",
    "dim_name",
    "dynamic_symbol",
    "iterator_symbol",
]
