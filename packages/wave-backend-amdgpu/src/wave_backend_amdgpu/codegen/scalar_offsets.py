"""The steps of a loop as the scalar offset of a buffer instruction.

The part of an offset that the counters of loops decide is the same in all lanes. In a
scalar register of its own it costs an instruction of the scalar unit in an iteration,
for all accesses that advance alike; added to the offsets of the lanes it costs one of
the vector unit for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_backend_amdgpu.codegen.memories import Memory
    from wave_core.symbols import Expr


def scalar_offset_load(
    emit: Emitter, memory: Memory, index: str, moving: Expr, kind: str
) -> str:
    """Load a value of type ``kind`` from ``index``, further on by ``moving``."""
    assert memory.plain is not None, "only such memories are loaded so"
    name, plain = memory.plain
    offset = emit.indices.wrapped(moving)
    # The short form of this operation differs between releases of the compiler.
    return emit.builder.op(
        f'"amdgpu.raw_buffer_load"({name}, {index}, {offset}) <{{boundsCheck = true, '
        "operandSegmentSizes = array<i32: 1, 1, 1>}> : "
        f"({plain}, i32, i32) -> {kind}"
    )
