"""Names that are planned and absent, and what to do about unknown ones."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from wave_core.diagnostics import capture_location
from wave_core.trace.planned import planned

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SCANS = "scans and top-k"
_ATOMICS = "atomic and scattered updates"
_SCALED = "scaled matrix products and element types below 8 bits"
_DMA = "asynchronous copies to LDS"
_DEBUG = "logging registers"
_SIMT = "code for single threads"
_SCHEDULES = "conditions of one's own in schedules; see `stagger`"

PLANNED: Mapping[str, str] = {
    "cumsum": _SCANS,
    "scan": _SCANS,
    "topk": _SCANS,
    "atomic_add": _ATOMICS,
    "atomic_min": _ATOMICS,
    "atomic_max": _ATOMICS,
    "scatter_add": _ATOMICS,
    "scaled_mma": _SCALED,
    "ScaledMMAType": _SCALED,
    "bitcast": _SCALED,
    "f8e8m0fnu": _SCALED,
    "f6e2m3fn": _SCALED,
    "f4e2m1fn": _SCALED,
    "i4": _SCALED,
    "tensor_load_to_lds": _DMA,
    "tensor_counter_wait": _DMA,
    "debug_log": _DEBUG,
    "bounds_check": "run-time checks of bounds",
    "extract_slice": "slices of registers",
    "remf": "the truncated remainder of floats",
    "thread": _SIMT,
    "GET_ITER_ARG": "while loops",
    "insert_cond_barrier_before": _SCHEDULES,
    "insert_cond_barrier_after": _SCHEDULES,
    "get_hardware_constraint": _SCHEDULES,
}


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name that the language does not have."""
    if name in PLANNED:
        return planned(name, PLANNED[name], capture_location())
    close = get_close_matches(name, list(known), n=1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    return AttributeError(
        f"module `{module}` has no attribute `{name}`{hint}",
        name=name,
    )
