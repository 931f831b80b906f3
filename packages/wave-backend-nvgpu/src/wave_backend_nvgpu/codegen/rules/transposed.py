"""Reads of shared memory whose lanes exchange what they fetched: `ldmatrix`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.backends import lowers
from wave_core.backends.emission import Kind, Value, element
from wave_core.backends.emission.accesses import pieces
from wave_core.ir import resolve
from wave_core.ops.memory import TransposedRead

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.emitter import Emitter

MATRICES = 4
"""Blocks of 8 rows of 16 bytes that one instruction moves."""

LOAD = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{MATRICES}"


@lowers(TransposedRead)
def transposed_read(op: TransposedRead, emit: Emitter) -> None:
    """One instruction: each lane names 16 bytes, a row of a block."""
    memory = emit.memories[resolve(op.memory).ident]
    (piece,) = pieces(op, emit, memory)
    place = emit.address(memory, piece.offset)
    result = f"{{{', '.join(['i32'] * MATRICES)}}}"
    function = f"{LOAD}{'' if op.rows else '.trans'}.b16.p3"
    name = emit.builder.call(function, result, [(memory.space.pointer, place)])
    names = [
        emit.builder.op(f"extractvalue {result} {name}, {at}") for at in range(MATRICES)
    ]
    words = Kind("i32", MATRICES)
    whole = emit.instructions.from_elements(words, *names)
    item = element(memory.dtype)
    name = emit.instructions.recast(words, Kind(item, piece.count), whole)
    emit.define(op, Value(name, item, piece.count))
