"""Moves between lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.codegen.rules.butterflies import is_joined
from wave_backend_asm.machine.operands import SCALARS
from wave_backend_asm.select.conversions import chosen, truncated_to_truth
from wave_core.backends import lowers
from wave_core.backends.emission import Value
from wave_core.constraints.machine import LANE
from wave_core.ops.reduce import Shuffle
from wave_core.symbols import ge, select, xor

if TYPE_CHECKING:
    from wave_backend_asm.code import Part
    from wave_backend_asm.codegen.emitter import Emitter
    from wave_backend_asm.machine.operands import Operand
    from wave_backend_asm.select.builder import Builder
    from wave_core.symbols import Expr

_QUAD = 4
"""Lanes that DPP lets change places in any order. Source: CDNA3 ISA, DPP_QUAD_PERM."""

_ROWS = {7: "row_half_mirror", 8: "row_ror:8", 15: "row_mirror"}
"""What else of DPP flips bits of a lane's number. Source: CDNA3 ISA, DPP_CTRL."""

_NEXT = {"up": "wave_shr:1", "down": "wave_shl:1"}
"""The neighbour's word, by the words of `Shuffle`. Source: CDNA3 ISA, DPP_CTRL."""

_HALVES = {16: (0xFFFF0000, 0xFFFF0000), 32: (0, 0xFFFFFFFF)}
"""By rows of how many lanes change places, the lanes of the odd ones."""

_SWIZZLED = 32
"""Lanes among which DS_SWIZZLE_B32 moves. Source: CDNA3 ISA, its bit mask mode."""


@lowers(Shuffle)
def shuffle(op: Shuffle, emit: Emitter) -> None:
    """Word by word: elements below a word move with their neighbours.

    What a step joins without a move stays where it is.
    """
    value, b = emit.value(op.value), emit.b
    datum = b.data[value.name]
    width = min(op.width, emit.geometry.lanes)
    truth = datum.kind.item == "i1"
    if op.offset >= width or is_joined(op, emit.target.name):
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
    if op.mode == "xor":
        found = _flipped(b, op.offset, word, emit.target.name)
        if found is not None:
            return found
    if op.mode in _NEXT and op.offset == 1 and width == emit.geometry.lanes:
        # The lane at the end has no neighbour, and keeps what is its own.
        own = b.valu("v_mov_b32", word)
        modifiers = f"{_NEXT[op.mode]} row_mask:0xf bank_mask:0xf"
        return b.valu(
            "v_mov_b32_dpp", word, result=own, modifiers=modifiers, keeps=(own,)
        )
    address = emit.indices.number(partner(op, width) * 4, 32)
    lane = b.in_vector(b.words(address)[0])
    return b.valu("ds_bpermute_b32", lane, word)


def _flipped(b: Builder, bits: int, word: Part, chip: str) -> Part | None:
    """The word of the lane whose number has some bits flipped, without an address."""
    if bits < _QUAD:
        order = ",".join(str(lane ^ bits) for lane in range(_QUAD))
        return _by_dpp(b, word, f"quad_perm:[{order}]")
    if bits in _ROWS:
        return _by_dpp(b, word, _ROWS[bits])
    if bits == _QUAD:
        return _by_quads(b, word)
    if bits in _HALVES and chip == "gfx950":
        return _by_swap(b, bits, word)
    if bits < _SWIZZLED:
        # All bits of the number are taken, and some are flipped.
        return b.valu("ds_swizzle_b32", word, modifiers=f"offset:{bits << 10 | 31}")
    return None


def _by_dpp(b: Builder, word: Part, how: str) -> Part:
    modifiers = f"{how} row_mask:0xf bank_mask:0xf"
    return b.valu("v_mov_b32_dpp", word, modifiers=modifiers)


def _by_quads(b: Builder, word: Part) -> Part:
    """Even quads take what stands behind them, then odd ones what is in front."""
    even = "row_shl:4 row_mask:0xf bank_mask:0x5"
    odd = "row_shr:4 row_mask:0xf bank_mask:0xa"
    found = b.valu("v_mov_b32_dpp", word, modifiers=even)
    return b.valu("v_mov_b32_dpp", word, result=found, modifiers=odd, keeps=(found,))


def _by_swap(b: Builder, rows: int, word: Part) -> Part:
    """Odd rows of a copy change places with the even ones of another copy.

    The one has what even rows had, then, and the other what odd ones had. Source:
    CDNA4 ISA, V_PERMLANE16_SWAP_B32 and V_PERMLANE32_SWAP_B32.
    """
    even, odd = (b.valu("v_mov_b32", word) for _ in range(2))
    name = f"v_permlane{rows}_swap_b32"
    b.say(name, (even, odd), keeps=(even, odd))
    return b.valu("v_cndmask_b32_e64", odd, even, b.together(_HALVES[rows], SCALARS))


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
