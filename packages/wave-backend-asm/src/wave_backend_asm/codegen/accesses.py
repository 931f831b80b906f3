"""Addresses of pieces, folded into the fields that instructions have for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from wave_backend_asm.select.conversions import chosen
from wave_core.backends.emission.steps import split_piece
from wave_core.symbols import Expr, constant, split_remainders

if TYPE_CHECKING:
    from wave_backend_asm.codegen.emitter import Emitter
    from wave_backend_asm.codegen.memories import Memory
    from wave_backend_asm.machine.operands import Operand
    from wave_core.backends.emission.accesses import Piece

_BUFFER_IMMEDIATE, _LDS_IMMEDIATE = 1 << 12, 1 << 16
"""What the offset fields hold less than. Source: CDNA3 ISA, MUBUF and DS."""


@dataclass(frozen=True)
class Address:
    """Where a piece lies.

    Attributes:
        lane: bytes that lanes add.
        wave: bytes that the wave adds, of a buffer.
        immediate: bytes in the instruction.
        memory: the buffer of LDS.
    """

    lane: Operand
    wave: Operand
    immediate: int
    memory: str = ""


def buffer_address(
    emit: Emitter, memory: Memory, piece: Piece, *, folded: bool = True
) -> Address:
    """What loops add is the wave's; a masked lane is beyond every buffer.

    Args:
        emit: where it is computed.
        memory: the buffer.
        piece: what is touched.
        folded: whether the instruction may take a constant.
    """
    steady, moving = split_piece(emit, memory, piece)
    size = memory.dtype.bytes
    limit = _BUFFER_IMMEDIATE if folded else 1
    lane, beyond, immediate = _split(emit, steady * size, limit)
    if not (moving.is_constant and _may_be_of_the_wave(memory, piece, beyond)):
        lane, beyond = lane + constant(beyond), 0
    name = emit.indices.wrapped(lane)
    word = emit.b.words(name)[0]
    if piece.mask is not None:
        assert memory.descriptor is not None, "a buffer"
        emit.bounded.add(memory.descriptor.value)
        level = max(emit.indices.level(piece.mask), emit.indices.level(lane))
        truth = emit.indices.truth(piece.mask)
        test = emit.b.words(truth)[0]
        with emit.b.at(level):
            word = emit.b.kept(
                ("masked", test, word),
                partial(chosen, emit.b, test, word, memory.outside),
            )
    wave: Operand = beyond
    if not moving.is_constant:
        offset = emit.indices.wrapped(moving * size)
        wave = emit.b.uniform(emit.b.words(offset)[0])
    return Address(word, wave, immediate)


def _may_be_of_the_wave(memory: Memory, piece: Piece, offset: int) -> bool:
    """Whether a lane that is masked stays beyond the buffer with a constant added.

    `split_piece` says why that has to be inside; a piece without a mask is.
    """
    if piece.mask is None:
        return True
    return memory.count is not None and offset < memory.count * memory.dtype.bytes


def lds_address(emit: Emitter, memory: Memory, piece: Piece) -> Address:
    """The start of the buffer is in the instruction, too.

    Its sum with a register has 32 bits, so that the register may hold less than 0.
    Source: LLVM, `isDSOffsetLegal` of AMDGPUISelDAGToDAG.cpp.
    """
    offset = piece.offset * memory.dtype.bytes + memory.start
    number, _ = split_remainders(offset)
    field = number % _LDS_IMMEDIATE if number > 0 else 0
    name = emit.indices.wrapped(offset - field)
    return Address(emit.b.words(name)[0], 0, field, memory.name)


def _split(emit: Emitter, offset: Expr, limit: int) -> tuple[Expr, int, int]:
    """The constant of a sum, where the rest is proved not to be negative.

    Returns:
        The rest; what of the constant does not fit a field of an instruction; and what
        does, so that neighbours share the others.
    """
    number, _ = split_remainders(offset)
    rest = offset - number
    if number <= 0 or not emit.indices.within_loops().prove_nonnegative(rest):
        return offset, 0, 0
    field = number % limit
    return rest, number - field, field
