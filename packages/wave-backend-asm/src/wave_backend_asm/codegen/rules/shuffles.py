"""Moves between lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.select.conversions import chosen, truncated_to_truth
from wave_core.backends import lowers
from wave_core.backends.emission import Value
from wave_core.constraints.machine import LANE
from wave_core.ops.reduce import Shuffle
from wave_core.symbols import ge, select, xor

if TYPE_CHECKING:
    from wave_backend_asm.codegen.emitter import Emitter
    from wave_backend_asm.machine.operands import Operand
    from wave_core.symbols import Expr

_QUAD = 4
"""Lanes that DPP lets change places in any order. Source: CDNA3 ISA, DPP_QUAD_PERM."""

_SWIZZLED = 32
"""Lanes among which DS_SWIZZLE_B32 moves. Source: CDNA3 ISA, its bit mask mode."""


@lowers(Shuffle)
def shuffle(op: Shuffle, emit: Emitter) -> None:
    """Word by word: elements below a word move with their neighbours."""
    value, b = emit.value(op.value), emit.b
    datum = b.data[value.name]
    width = min(op.width, emit.geometry.lanes)
    truth = datum.kind.item == "i1"
    if op.offset >= width:
        emit.define(op, value)
        return
    words = [chosen(b, w, 1, 0) for w in datum.words] if truth else datum.words
    moved = [_moved(op, emit, width, word) for word in words]
    found = [truncated_to_truth(b, word) for word in moved] if truth else moved
    emit.define(op, Value(b.of(datum.kind, found), *datum.kind))


def _moved(op: Shuffle, emit: Emitter, width: int, word: Operand) -> Operand:
    b = emit.b
    if isinstance(word, int):
        return word
    word = b.in_vector(word)
    if op.mode == "xor" and op.offset < _QUAD:
        order = ",".join(str(lane ^ op.offset) for lane in range(_QUAD))
        modifiers = f"quad_perm:[{order}] row_mask:0xf bank_mask:0xf"
        return b.valu("v_mov_b32_dpp", word, modifiers=modifiers)
    if op.mode == "xor" and op.offset < _SWIZZLED:
        # All bits of the number are taken, and some are flipped.
        modifiers = f"offset:{op.offset << 10 | 31}"
        return b.valu("ds_swizzle_b32", word, modifiers=modifiers)
    address = emit.indices.number(partner(op, width) * 4, 32)
    lane = b.in_vector(b.words(address)[0])
    return b.valu("ds_bpermute_b32", lane, word)


def partner(op: Shuffle, width: int) -> Expr:
    """The lane that a lane reads: its own, where the other is of another group."""
    place = LANE % width
    if op.mode == "up":
        return select(ge(place, op.offset), LANE - op.offset, LANE)
    if op.mode == "down":
        beyond = ge(place, width - op.offset)
        return select(beyond, LANE, LANE + op.offset)
    if op.mode == "idx":
        return LANE - place + op.offset
    return xor(LANE, op.offset)
