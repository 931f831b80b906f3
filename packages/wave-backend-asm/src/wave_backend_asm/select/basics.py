"""Integers of 32 bits: of the wave where all operands are, else of lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import (
    SCALARS,
    Operand,
    Virtual,
    is_scalar,
    signed,
)
from wave_backend_asm.select.builder import Shifted
from wave_backend_asm.select.data import WORD

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder

_SALU = {
    "addi": "s_add_i32", "subi": "s_sub_i32", "muli": "s_mul_i32",
    "andi": "s_and_b32", "ori": "s_or_b32", "xori": "s_xor_b32",
    "shli": "s_lshl_b32", "shrui": "s_lshr_b32", "shrsi": "s_ashr_i32",
    "maxsi": "s_max_i32", "minsi": "s_min_i32",
    "maxui": "s_max_u32", "minui": "s_min_u32",
}  # fmt: skip

_VALU = {
    "addi": "v_add_u32", "subi": "v_sub_u32", "muli": "v_mul_lo_u32",
    "andi": "v_and_b32", "ori": "v_or_b32", "xori": "v_xor_b32",
    "shli": "v_lshlrev_b32", "shrui": "v_lshrrev_b32", "shrsi": "v_ashrrev_i32",
    "maxsi": "v_max_i32", "minsi": "v_min_i32",
    "maxui": "v_max_u32", "minui": "v_min_u32",
}  # fmt: skip

_REVERSED = ("shli", "shrui", "shrsi")
"""Their instruction of lanes takes the distance first."""

_COMMUTES = ("addi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui")

_FOLDS: Mapping[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << (b & 31),
    "shrui": lambda a, b: (a & 0xFFFFFFFF) >> (b & 31),
    "shrsi": lambda a, b: signed(a) >> (b & 31),
    "maxsi": lambda a, b: max(signed(a), signed(b)),
    "minsi": lambda a, b: min(signed(a), signed(b)),
}

_NEUTRAL = {("addi", 0), ("subi", 0), ("ori", 0), ("xori", 0), ("muli", 1),
            ("shli", 0), ("shrui", 0), ("shrsi", 0), ("andi", 0xFFFFFFFF)}  # fmt: skip


def basic(b: Builder, word: str, one: Operand, two: Operand) -> Operand:
    """One operation of `INTEGER_WORDS` that is no division, on words of 32 bits."""
    if isinstance(two, int) and word in _REVERSED:
        # As the machine does: above a distance of few bits may be another element.
        two &= 31
    if isinstance(one, int) and word in _COMMUTES:
        one, two = two, one
    if isinstance(one, int) and isinstance(two, int) and word in _FOLDS:
        return _FOLDS[word](one, two) & 0xFFFFFFFF
    if isinstance(two, int) and (found := _less(b, word, one, two)) is not None:
        return found
    if is_scalar(one) and is_scalar(two):
        return _of_the_wave(b, word, one, two)
    if isinstance(two, int) and word in _SHIFTS:
        return _shifted(b, word, one, two & 0xFFFFFFFF)
    if word == "muli" and _is_small(b, one) and _is_small(b, two):
        one, two = (two, one) if is_scalar(two) else (one, two)
        return b.valu("v_mul_u32_u24", one, two)
    return _flipped(b, one, two) if word == "xori" else lanes(b, word, one, two)


def _less(b: Builder, word: str, one: Operand, number: int) -> Operand | None:
    """The same by less than an operation with a number, if there is such a way."""
    if (word, number & 0xFFFFFFFF) in _NEUTRAL:
        return one
    if word == "muli" and (power := power_of(number)) is not None:
        return basic(b, "shli", one, power)
    if (before := b.shifted(one)) and _goes_on(before, word, number):
        return basic(b, word, before.whole, before.number + number)
    return None


def _goes_on(before: Shifted, word: str, distance: int) -> bool:
    """Whether a shift moves on what one has moved without losing what it keeps."""
    same = word == before.how and word in ("shli", "shrui") and not before.first
    return same and before.number + distance < WORD


def _flipped(b: Builder, one: Operand, two: Operand) -> Operand:
    """The bits in which words differ; places in LDS flip the same ones again."""
    found = b.kept(("flipped", one, two), lambda: lanes(b, "xori", one, two))
    if isinstance(two, int):
        b.mark_flipped(found, one, two)
    return found


_SMALL = 24
"""Bits of the operands of a quick product. Source: CDNA3 ISA, V_MUL_U32_U24."""


def _is_small(b: Builder, operand: Operand) -> bool:
    """Whether a word has no bits but the lowest ones, as a shift or a mask says."""
    if isinstance(operand, int):
        return 0 <= operand < 1 << _SMALL
    row = b.shifted(operand)
    if row is None or row.how not in ("andi", "shrui"):
        return False
    if row.how == "andi":
        return row.number < 1 << _SMALL
    return row.number >= 32 - _SMALL or _is_small(b, row.whole)


def _of_the_wave(b: Builder, word: str, one: Operand, two: Operand) -> Operand:
    if word == "addi":
        return _wave_sum(b, one, two)
    made = b.salu(_SALU[word], one, two)
    if isinstance(two, int) and word in _SHIFTS:
        return b.mark_shifted(made, Shifted(word, one, two & 0xFFFFFFFF))
    return made


_SHIFTS = ("shli", "shrui", "shrsi", "andi")


def _wave_sum(b: Builder, one: Operand, two: Operand) -> Operand:
    """A sum of the wave; of three, those are added first that one instruction adds."""
    found = _sum_of_shifted(b, one, two)
    if found is not None:
        return found
    for sum_, other in ((one, two), (two, one)):
        for side, rest in (b.added(sum_), b.added(sum_)[::-1]):
            near = side is not None and _sum_of_shifted(b, side, other)
            if near and rest is not None:
                return b.mark_added(b.salu("s_add_i32", rest, near), rest, near)
    return b.mark_added(b.salu("s_add_i32", one, two), one, two)


_MOST = 4
"""Distances that a sum of the wave may shift by: S_LSHL4_ADD_U32 is the last."""


def _sum_of_shifted(b: Builder, one: Operand, two: Operand) -> Operand | None:
    """A sum of the wave, one side of which is moved to the left further.

    What both are moved by, the sum is: others may want it moved by another distance.
    """
    (one, far), (two, near) = (_moved_left(b, each) for each in (one, two))
    if far < near:
        (one, far), (two, near) = (two, near), (one, far)
    if not 0 < far - near <= _MOST:
        return None
    name = f"s_lshl{far - near}_add_u32"
    found = b.kept((name, one, two), lambda: b.salu(name, one, two))
    moved = b.kept((name, one, two, near), lambda: basic(b, "shli", found, near))
    return b.mark_shifted(moved, Shifted("shli", found, near)) if near else found


def _moved_left(b: Builder, operand: Operand) -> tuple[Operand, int]:
    """What of the wave an operand is, and how far it is moved to the left."""
    row = b.shifted(operand)
    if row is None or row.how != "shli" or not is_scalar(row.whole):
        return operand, 0
    return row.whole, row.number


def _shifted(b: Builder, word: str, one: Operand, number: int) -> Operand:
    """A shift or a mask by a number: bits in a row are taken by one instruction.

    What the first of two shifts or masks was for, another one may want.
    """
    flipped = b.flipped(one) if word == "shli" else None
    if flipped is not None:
        return _moved_and_flipped(b, *flipped, number)
    row = Shifted(word, one, number)
    before = b.shifted(one)
    if before is None:
        key = ("moved", word, one, number)
        found = b.kept(key, lambda: lanes(b, word, one, number))
        return b.mark_shifted(found, row)
    bits = _field(before, word, number)
    if bits is not None:
        name = "v_bfe_i32" if word == "shrsi" else "v_bfe_u32"
        found = b.valu(name, before.whole, *bits)
        field = Shifted("andi", before.whole, (1 << bits[1]) - 1, bits[0])
        return found if word == "shrsi" else b.mark_shifted(found, field)
    if word == "shli" and _keeps_all(before, number):
        row = Shifted(word, before.whole, number, before.first)
        one = one if before.first else before.whole
    return b.mark_shifted(lanes(b, word, one, number), row)


def _moved_and_flipped(b: Builder, whole: Operand, bits: int, far: int) -> Operand:
    """A word with bits flipped, to the left: others have other bits of it flipped."""
    return basic(b, "xori", basic(b, "shli", whole, far), bits << far & 0xFFFFFFFF)


def _field(before: Shifted, word: str, number: int) -> tuple[int, int] | None:
    """First bit and count of a field that two operations take out of a word.

    A mask behind a shift to the right, or a shift to the right behind one to the left.
    """
    if word == "andi" and before.how == "shrui":
        count = number.bit_length()
        fits = number & (number + 1) == 0 and before.number + count <= 32
        return (before.number, count) if fits else None
    if word in ("shrsi", "shrui") and before.how == "shli":
        first = before.first + number - before.number
        return (first, 32 - number) if before.number <= number < 32 else None
    return None


def _keeps_all(before: Shifted, distance: int) -> bool:
    """Whether a shift to the left leaves nothing of the bits that a mask clears."""
    kept = (1 << (32 - distance)) - 1
    return before.how == "andi" and before.number & kept == kept


def lanes(b: Builder, word: str, one: Operand, two: Operand) -> Operand:
    """The same in each lane, whatever the operands are."""
    if word in _REVERSED or (word in _COMMUTES and not is_scalar(one)):
        one, two = two, one
    elif word == "subi" and isinstance(two, int):
        return b.valu("v_add_u32", -two & 0xFFFFFFFF, one)
    elif word == "subi" and is_scalar(two):
        return b.valu("v_subrev_u32", two, one)
    return b.valu(_VALU[word], one, two)


def lane_test(b: Builder, name: str, *operands: Operand) -> Operand:
    """A comparison of lanes: a bit for each."""
    mask = Virtual(2, SCALARS).all
    b.say(name, (mask,), b.readable(name, operands))
    return mask


def power_of(number: int) -> int | None:
    """The power of two that a number is."""
    number &= 0xFFFFFFFF
    return None if not number or number & (number - 1) else number.bit_length() - 1
