"""Backends: rules that lower ops."""

from __future__ import annotations

from wave_core.backends.lowering import AnyLowering
from wave_core.backends.lowering import Coverage
from wave_core.backends.lowering import Lowering
from wave_core.backends.lowering import LoweringTable
from wave_core.backends.lowering import lowers
from wave_core.backends.lowering import rules_of

__all__ = [
    "AnyLowering",
    "Coverage",
    "Lowering",
    "LoweringTable",
    "lowers",
    "rules_of",
]
