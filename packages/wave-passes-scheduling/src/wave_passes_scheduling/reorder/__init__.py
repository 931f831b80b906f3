"""Ops in another order: proved legal, in clusters between which waves alternate."""

from __future__ import annotations

from wave_passes_scheduling.reorder.legal import (
    Edge,
    RegionOrder,
    apply_order,
    region_order,
)

__all__ = ["Edge", "RegionOrder", "apply_order", "region_order"]
