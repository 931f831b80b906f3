"""The lowering rules of this package, and the ops that it leaves out."""

from __future__ import annotations

from wave_backend_amdgpu.codegen.emitter import BACKEND
from wave_backend_amdgpu.codegen.rules import arithmetic
from wave_backend_amdgpu.codegen.rules import compare
from wave_backend_amdgpu.codegen.rules import constants
from wave_backend_amdgpu.codegen.rules import control
from wave_backend_amdgpu.codegen.rules import direct
from wave_backend_amdgpu.codegen.rules import matrix
from wave_backend_amdgpu.codegen.rules import memory
from wave_backend_amdgpu.codegen.rules import shape
from wave_backend_amdgpu.codegen.rules import sync
from wave_backend_amdgpu.plugin import PARTLY
from wave_backend_amdgpu.plugin import UNSUPPORTED
from wave_core.backends import LoweringTable
from wave_core.backends import rules_of

MODULES = (
    *(arithmetic, compare, constants, control, direct),
    *(matrix, memory, shape, sync),
)


def own_table() -> LoweringTable:
    """The rules of this package alone."""
    rules = [rule for module in MODULES for rule in rules_of(module)]
    return LoweringTable.of(BACKEND, rules, {**UNSUPPORTED, **PARTLY})
