"""Ops in another order: proved legal, in clusters between which waves alternate."""

from __future__ import annotations

from wave_passes_scheduling.reorder.legal import (
    apply_order as apply_order,
    region_order as region_order,
)
