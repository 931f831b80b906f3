"""Element types, tiles, memories and index mappings."""

from __future__ import annotations

from wave_core.types.dtype import ALL_DTYPES
from wave_core.types.dtype import DTYPES
from wave_core.types.dtype import DType
from wave_core.types.dtype import Family
from wave_core.types.mapping import AccessMapping
from wave_core.types.mapping import dynamic_symbol
from wave_core.types.mapping import iterator_symbol
from wave_core.types.shaped import AddressSpace
from wave_core.types.shaped import MemoryType
from wave_core.types.shaped import RegisterType
from wave_core.types.shaped import Type
from wave_core.types.shaped import Usage
from wave_core.types.shaped import dim_name

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
