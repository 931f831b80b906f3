"""Ops that no backend sees, or lowers by a rule of its own."""

from __future__ import annotations

LOWERED_BY_CORE = {
    "argument": "parameters and carried values are bound, not lowered",
    "yield": "lowered with the op that owns the region",
    "broadcast": "core lowers it to assemble",
    "permute": "core lowers it to assemble",
    "squeeze": "core lowers it to assemble",
    "reshape": "core lowers it to assemble",
    "extract": "core lowers it to assemble",
    "extract_slice": "core lowers it to a round trip through LDS",
    "relayout": "core lowers it to assemble, shuffle or a round trip through LDS",
    "self_index": "core lowers it to lane_expr",
    "reduce": "core lowers it to elementwise ops and shuffles",
    "scan": "core lowers it to elementwise ops, selections and shuffles",
    "sort": "core lowers it to elementwise ops, selections and shuffles",
}
"""By name: what core makes of them before a backend is asked."""
