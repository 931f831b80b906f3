"""The AMD targets, one function for each chip; importing builds none of them."""

from __future__ import annotations

from wave_backend_amdgpu.targets.chips import (
    gfx90a,
    gfx942,
    gfx950,
    gfx1100,
    gfx1201,
    gfx1250,
)

__all__ = ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"]
