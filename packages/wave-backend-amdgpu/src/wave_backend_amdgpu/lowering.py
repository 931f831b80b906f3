"""The public part of code generation, for lowering rules of other packages.

A rule is marked with ``@lowers(MyOp)``, is registered for ``amdgpu``, and is called
with the op and the `Emitter`. `Operands` reads what an op computes with and records its
result; ``emit.instructions`` prints core's instructions (`Instructions`), and MLIR of
any other kind is written as text with ``emit.builder.op``. Names that are not in this
module may change at any time.
"""

from __future__ import annotations

from wave_backend_amdgpu.codegen.emitter import Emitter, unsupported
from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends.emission import Kind, Value, element, gathered, sliced
from wave_core.backends.emission.operands import Operands

__all__ = [
    "Emitter",
    "Kind",
    "Operands",
    "Value",
    "element",
    "gathered",
    "sliced",
    "unsupported",
    "vector",
]
