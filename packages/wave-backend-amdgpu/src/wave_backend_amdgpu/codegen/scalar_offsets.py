"""The steps of a loop as the scalar offset of a buffer instruction.

The part of an offset that the counters of loops decide is the same in all lanes. In a
scalar register of its own it costs an instruction of the scalar unit in an iteration,
for all accesses that advance alike; added to the offsets of the lanes it costs one of
the vector unit for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.symbols import Expr, Facts, constant

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_backend_amdgpu.codegen.memories import Memory
    from wave_core.backends.emission.accesses import Piece


def split_piece(emit: Emitter, memory: Memory, piece: Piece) -> tuple[Expr, Expr]:
    """The offset of a piece in two parts: of the lane, and what loops add to it.

    Whether the range check of a buffer counts the second part is left open by MLIR
    (``amdgpu.raw_buffer_load``), excluded by LLVM's intrinsics, and differs between
    chips: gfx9 counts it, gfx11 and gfx12 do not. The result is right either way:

    * Both parts are proved not to be negative. Lanes that are not masked stay inside
      with their whole offset, so with the first part alone too.
    * A masked lane has `BUFFER_LIMIT` as its first part, which is beyond every buffer.
      The second is proved to be inside the buffer, so their sum is beyond it as well,
      stays below 4 GiB, and no room that is left is less than nothing.

    Returns:
        Both in elements; all in the first where nothing is proved.
    """
    moving, whole = _moving(emit, piece.offset), (piece.offset, constant(0))
    if moving.is_constant:
        return whole
    facts, steady = within_loops(emit), piece.offset - moving
    if not (facts.prove_nonnegative(steady) and facts.prove_nonnegative(moving)):
        return whole
    if piece.mask is not None:
        high = facts.bounds(moving).hi
        if high is None or memory.count is None or high >= memory.count:
            return whole
    return steady, moving


def _moving(emit: Emitter, offset: Expr) -> Expr:
    """The terms of an offset that counters of loops alone decide."""
    found = constant(0)
    counters = emit.indices.counters
    for term, factor in offset.linear()[1]:
        if all(symbol in counters for symbol in term.free_symbols):
            found = found + term * factor
    return found


def within_loops(emit: Emitter) -> Facts:
    """Facts that hold inside the open loops."""
    facts = emit.facts
    for counter, count in emit.indices.counters.items():
        facts = facts.with_range(counter, 0, count - 1)
    return facts


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
