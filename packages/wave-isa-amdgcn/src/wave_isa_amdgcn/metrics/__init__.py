"""Static metrics of assembly: what the hot loop does, and what a wave takes."""

from __future__ import annotations

from wave_isa_amdgcn.metrics.measure import Metrics, measure

__all__ = ["Metrics", "measure"]
