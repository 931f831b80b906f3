"""The lowering rules of this package, and the ops that it leaves out."""

from __future__ import annotations

from importlib import import_module

from wave_backend_amdgpu.codegen.emitter import BACKEND
from wave_backend_amdgpu.plugin import FAMILIES, PARTLY
from wave_core.backends import LoweringTable, rules_of
from wave_core.backends.lowered import LOWERED_BY_CORE


def own_table() -> LoweringTable:
    """The rules of this package alone."""
    rules = [rule for name in FAMILIES for rule in rules_of(import_module(name))]
    return LoweringTable.of(BACKEND, rules, {**LOWERED_BY_CORE, **PARTLY})
