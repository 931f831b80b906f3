"""Backends: rules that lower ops."""

from __future__ import annotations

from wave_core.backends.lowering import AnyLowering
from wave_core.backends.lowering import Coverage
from wave_core.backends.lowering import Lowering
from wave_core.backends.lowering import LoweringTable
from wave_core.backends.lowering import lowers
from wave_core.backends.lowering import rules_of
from wave_core.backends.spec import Backend
from wave_core.backends.spec import BackendSpec

__all__ = [
    "AnyLowering",
    "Backend",
    "BackendSpec",
    "Coverage",
    "Lowering",
    "LoweringTable",
    "lowers",
    "rules_of",
]
