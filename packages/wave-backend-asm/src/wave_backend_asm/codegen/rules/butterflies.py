"""Steps of butterflies that need no move between lanes of their own.

A step joins what a lane has and what its partner has, the same in both of them. Where
the machine gives both what both have, none is chosen; and where all of a wave are
joined, and those of a row of 16 are already, the others need only be joined for the
last lane, which tells the wave. Source: CDNA3 ISA, DPP_ROW_BCAST15, DPP_ROW_BCAST31.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import SCALARS, Virtual, is_scalar
from wave_backend_asm.select.basics import lane_test
from wave_backend_asm.select.data import WORD
from wave_core.backends import lowers
from wave_core.backends.emission.floats import F32
from wave_core.backends.emission.operands import Operands
from wave_core.backends.emission.rules.arithmetic import word_of
from wave_core.ir import resolve
from wave_core.ops.arithmetic import Add, Maximum, Minimum
from wave_core.ops.reduce import Shuffle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_backend_asm.codegen.emitter import Emitter
    from wave_backend_asm.machine.operands import Operand
    from wave_backend_asm.select.builder import Builder
    from wave_core.ops.base import Op
    from wave_core.types import DType

    Words = Sequence[Operand]

_NAN = 0x7FC00000
"""An f32 that is no number."""

_ROW, _LAST = 16, 63
"""Lanes of a row, and the last lane of a wave."""

_SWAPPED = (16, 32)
"""Distances at which lanes of two registers change places, on gfx950."""

_IN_FRONT = {
    16: "row_bcast:15 row_mask:0xa bank_mask:0xf",
    32: "row_bcast:31 row_mask:0x8 bank_mask:0xf",
}
"""How rows get what the last lane in front of them has, by the distance of a step.

Every other row does, then the last one: nobody looks at what the others have.
"""


def is_step(op: Op) -> bool:
    """Whether an op joins what a lane has and what its partner has."""
    if not isinstance(op, Add | Maximum | Minimum):
        return False
    other = resolve(op.rhs)
    if not isinstance(other, Shuffle) or other.mode != "xor":
        return False
    return other.offset < other.width and resolve(other.value) is resolve(op.lhs)


@lowers(Add, Maximum, Minimum, when=is_step, benefit=2)
def butterfly(op: Add | Maximum | Minimum, emit: Emitter) -> None:
    """A step of a butterfly."""
    work, b, moved = Operands(op, emit), emit.b, _moved(op)
    names, offset = work.names, moved.offset
    if is_joined(moved, emit.target.name):
        words = b.data[names[0]].words
        sides = _in_front(b, offset, words) if _is_end(op) else _both(b, offset, words)
        names = tuple([b.of(work.kind, side) for side in sides])
    word, quiet = word_of(op, work.dtype), _is_quiet(op, emit)
    if quiet:
        found = emit.instructions.apply(word, work.kind, *names, fast=True)
    else:
        found = work.apply(word, *names)
    if _is_last(op) and not _is_widened(op.register_type.dtype):
        words = [_of_last(b, word) for word in b.words(found)]
        if quiet:
            given = b.words(emit.spread(emit.value(_given(op)), work.registers))
            words = [*map(partial(_or_nan, b), given, words)]
        found = b.of(work.kind, words)
    work.finish(found)


def _is_quiet(step: Op, emit: Emitter) -> bool:
    """Whether a step may leave out what is no number, which is asked for at the end.

    That is so for extremes of f32 from which those of a whole wave are made, if nobody
    reads what is between.
    """
    extreme = isinstance(step, Maximum | Minimum) and step.register_type.dtype == F32
    allowed = emit.fast_math
    if not extreme or (allowed and allowed.maxima_drop_nan):
        return False
    found: Op | None = step
    while found is not None and not _is_last(found):
        found = _next(found)
    return found is not None


def _next(step: Op) -> Op | None:
    """The step of the same kind that alone reads what a step gives."""
    found = [user for user in step.users if is_step(user)]
    if len(found) != 1 or type(found[0]) is not type(step):
        return None
    readers = {id(user) for user in step.users}
    return found[0] if readers == {id(found[0]), id(_moved(found[0]))} else None


def _given(last: Op) -> Op:
    """What the first of the steps reads that leave out what is no number."""
    op = resolve(last.operands[0])
    while is_step(op) and _next(op) is not None and type(op) is type(last):
        op = resolve(op.operands[0])
    return op


def _or_nan(b: Builder, given: Operand, found: Operand) -> Operand:
    """What the wave has found, or NaN where a lane was given one."""
    test = lane_test(b, "v_cmp_u_f32_e64", given, given)
    b.say("s_cmp_lg_u64", (), (b.mask(test), 0))
    result = Virtual(1, SCALARS).all
    b.say("s_cselect_b32", (result,), (_NAN, found))
    return result


def is_joined(op: Shuffle, chip: str) -> bool:
    """Whether a step alone takes what a shuffle moves, and needs no move."""
    users, dtype = op.users, op.register_type.dtype
    if op.offset not in _SWAPPED or len(users) != 1 or _is_widened(dtype):
        return False
    return is_step(users[0]) and (chip == "gfx950" or _is_end(users[0]))


def _is_widened(dtype: DType) -> bool:
    return dtype.is_float and dtype.bits < WORD


_OWN, _OTHER = 0, 1
"""The operands of a step: what a lane has, and what its partner has."""


def _own(step: Op) -> Op:
    """What a lane has."""
    return resolve(step.slot_value(_OWN))


def _moved(step: Op) -> Shuffle:
    """What brings a lane what its partner has."""
    moved = resolve(step.slot_value(_OTHER))
    assert isinstance(moved, Shuffle), "a step of a butterfly"
    return moved


def _is_end(step: Op) -> bool:
    """Whether a step is one of the two that join the rows of a wave."""
    if _moved(step).offset != _ROW:
        return _is_last(step)
    if _is_widened(step.register_type.dtype):
        return False
    last = [user for user in step.users if is_step(user)]
    return len(last) == 1 and _is_last(last[0])


def _is_last(step: Op) -> bool:
    """Whether a step joins the halves of a wave, whose rows the one in front joins.

    Nobody else reads what that one gives.
    """
    moved = _moved(step)
    if moved.offset != 2 * _ROW:
        return False
    front = resolve(moved.value)
    if not is_step(front) or _moved(front).offset != _ROW:
        return False
    readers = {id(user) for user in front.users}
    return readers == {id(step), id(moved)} and _is_alike(_own(front))


def _is_alike(op: Op) -> bool:
    """Whether all lanes of a row have the same.

    What a step gives is the same in partners, and stays the same wherever what it joins
    was: flips of bits of a lane's number may come in any order.
    """
    flips = {0}
    while is_step(op):
        flips |= {each ^ _moved(op).offset for each in flips}
        op = _own(op)
    return flips >= {*range(_ROW)}


def _in_front(b: Builder, offset: int, words: Words) -> tuple[Words, Words]:
    """What a lane has, and what the last lane in front of its row has."""
    how = _IN_FRONT[offset]
    moved = [
        word
        if isinstance(word, int)
        else b.valu("v_mov_b32_dpp", b.in_vector(word), modifiers=how)
        for word in words
    ]
    return words, moved


def _both(b: Builder, offset: int, words: Words) -> tuple[Words, Words]:
    """What both partners have, the same in both of them.

    Source: CDNA4 ISA, V_PERMLANE16_SWAP_B32 and V_PERMLANE32_SWAP_B32.
    """
    rows: list[tuple[Operand, Operand]] = []
    for word in words:
        if isinstance(word, int):
            rows.append((word, word))
            continue
        even, odd = Virtual().all, b.valu("v_mov_b32", word)
        b.copy(even, b.in_vector(word))
        b.say(f"v_permlane{offset}_swap_b32", (even, odd), keeps=(even, odd))
        rows.append((even, odd))
    return [even for even, _ in rows], [odd for _, odd in rows]


def _of_last(b: Builder, word: Operand) -> Operand:
    """The last lane's word, for the whole wave."""
    if isinstance(word, int) or is_scalar(word):
        return word
    result = Virtual(1, SCALARS).all
    b.say("v_readlane_b32", (result,), (word, _LAST))
    return result
