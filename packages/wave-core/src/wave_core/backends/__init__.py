"""Backends: rules that lower ops."""

from __future__ import annotations

from wave_core.backends.lowering import (
    LoweringTable as LoweringTable,
    ModulePass as ModulePass,
    lowers as lowers,
    rules_of as rules_of,
)
from wave_core.backends.spec import Backend as Backend, BackendSpec as BackendSpec
