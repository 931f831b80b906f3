"""Element types, tiles, memories and index mappings."""

from __future__ import annotations

from wave_core.types.buffer_layout import BufferLayout as BufferLayout
from wave_core.types.dtype import (
    DTYPES as DTYPES,
    DType as DType,
    Family as Family,
)
from wave_core.types.log import (
    Handler as Handler,
    LeadingDim as LeadingDim,
    Log as Log,
    Printer as Printer,
    Stop as Stop,
)
from wave_core.types.mapping import (
    AccessMapping as AccessMapping,
    beyond_mapping as beyond_mapping,
    dynamic_symbol as dynamic_symbol,
    is_of_mapping as is_of_mapping,
    iterator_symbol as iterator_symbol,
)
from wave_core.types.shaped import (
    AddressSpace as AddressSpace,
    MemoryType as MemoryType,
    RegisterType as RegisterType,
    Type as Type,
    Usage as Usage,
    dim_name as dim_name,
)
