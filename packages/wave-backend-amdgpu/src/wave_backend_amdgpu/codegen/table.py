"""The lowering rules of this package, and the ops that it leaves out."""

from __future__ import annotations

from wave_backend_amdgpu.codegen.emitter import BACKEND
from wave_backend_amdgpu.codegen.rules import (
    arithmetic,
    compare,
    constants,
    control,
    direct,
    matrix,
    memory,
    shape,
    sync,
)
from wave_backend_amdgpu.plugin import PARTLY, UNSUPPORTED
from wave_core.backends import LoweringTable, rules_of

MODULES = (
    *(arithmetic, compare, constants, control, direct),
    *(matrix, memory, shape, sync),
)


def own_table() -> LoweringTable:
    """The rules of this package alone."""
    rules = [rule for module in MODULES for rule in rules_of(module)]
    return LoweringTable.of(BACKEND, rules, {**UNSUPPORTED, **PARTLY})
