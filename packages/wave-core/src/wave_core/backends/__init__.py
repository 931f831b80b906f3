"""Backends: rules that lower ops."""

from __future__ import annotations

from wave_core.backends.lowering import (
    AnyLowering,
    Lowering,
    LoweringTable,
    ModulePass,
    lowers,
    rules_of,
)
from wave_core.backends.spec import Backend, BackendSpec

__all__ = [
    "AnyLowering",
    "Backend",
    "BackendSpec",
    "Lowering",
    "LoweringTable",
    "ModulePass",
    "lowers",
    "rules_of",
]
