"""Instructions of lanes on registers, but for products of matrices.

Source: CDNA3 ISA, "Microcode formats": VOP1, VOP2, VOPC, VOP3, VOP3P, DPP, SDWA.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from wave_backend_asm.encode.modifiers import bits_of, values_of
from wave_backend_asm.encode.operands import (
    ACCUMULATOR,
    LITERAL,
    MASK,
    VECTOR,
    WORD,
    UnknownError,
    code_of,
    number_of,
)

_ONE, _TWO = struct.Struct("<I").pack, struct.Struct("<II").pack
_SINGLE, _THREE, _PACKED = 0x7E000000, 0xD0000000, 0xD3800000
ONE_AS_THREE, TWO_AS_THREE = 320, 256
"""Where the numbers of the short encodings begin in the long one."""

CodeOf = Callable[[str], int]

_BY_DPP, _BY_SDWA = 250, 249
_ROWS = {"row_shl": 0x100, "row_shr": 0x110, "row_ror": 0x120}
_WHOLE = {
    "wave_shl:1": 0x130, "wave_shr:1": 0x138, "row_mirror": 0x140,
    "row_half_mirror": 0x141, "row_bcast:15": 0x142, "row_bcast:31": 0x143,
}  # fmt: skip
_SELECTED = {
    "BYTE_0": 0, "BYTE_1": 1, "BYTE_2": 2, "BYTE_3": 3, "WORD_0": 4, "WORD_1": 5,
    "DWORD": 6,
}  # fmt: skip


def _own(operand: str, of: CodeOf) -> int:
    """The code of what lanes take; accumulators are not for them."""
    code = of(operand)
    if code & LITERAL or not code & ACCUMULATOR:
        return code
    raise UnknownError(operand)


def _register(operand: str) -> int:
    """The number of a vector register."""
    code = code_of(operand)
    if code & (ACCUMULATOR | LITERAL) or code < VECTOR:
        raise UnknownError(operand)
    return code - VECTOR


def single(op: int, of: CodeOf, operands: Sequence[str]) -> bytes:
    """A result of one operand."""
    result, operand = operands
    if operand.startswith("-") and operand[1:2].isalpha():
        return three(op + ONE_AS_THREE, of, operands)
    return _short(_SINGLE | _register(result) << 17 | op << 9, _own(operand, of))


def first_lane(op: int, operands: Sequence[str]) -> bytes:
    """What a lane has, for the wave."""
    result, operand = operands
    code = code_of(result)
    if code >= VECTOR:
        raise UnknownError(result)
    return _short(_SINGLE | code << 17 | op << 9, VECTOR + _register(operand))


def accumulators_moved(op: int, operands: Sequence[str]) -> bytes:
    """An accumulator from one to another."""
    to, of = (code_of(each) for each in operands)
    if not to & of & ACCUMULATOR or (to | of) & LITERAL:
        raise UnknownError(*operands)
    return _ONE(_SINGLE | (to & 0xFF) << 17 | op << 9 | of & MASK)


def double(op: int, of: CodeOf, operands: Sequence[str]) -> bytes:
    """A result of two operands, in the short form where the second is of lanes."""
    result, left, right = operands
    if right[0] != "v" or (left[0] == "-" and left[1:2].isalpha()):
        return three(op + TWO_AS_THREE, of, operands)
    word = op << 25 | _register(result) << 17 | _register(right) << 9
    return _short(word, _own(left, of))


def with_number(op: int, behind: bool, operands: Sequence[str]) -> bytes:  # noqa: FBT001
    """A product and a sum, of which one number is in the code in any case."""
    result, left, *others = operands
    number, right = others[::-1] if behind else others
    word = op << 25 | _register(result) << 17 | _register(right) << 9
    left_code = _own(left, code_of)
    if left_code & LITERAL:
        raise UnknownError(left)
    return _TWO(word | left_code, number_of(number) & 0xFFFFFFFF)


def _short(word: int, code: int) -> bytes:
    if code & LITERAL:
        return _TWO(word | code & MASK, code >> WORD)
    return _ONE(word | code)


def three(
    op: int, of: CodeOf, operands: Sequence[str], mask: str | None = None
) -> bytes:
    """The long form: a result, a mask beside it or none, up to three operands."""
    result, *sources = operands
    low = _THREE | op << 16 | _to(result)
    if mask is not None:
        low |= _to(mask) << 8
    high = 0
    for place, source in enumerate(sources):
        if source[0] == "-" and source[1:2].isalpha():
            high |= 1 << 29 + place
            source = source[1:]  # noqa: PLW2901 - what is left of it
        code = _own(source, of)
        if code & LITERAL:
            raise UnknownError(source)
        high |= code << 9 * place
    return _TWO(low, high)


def masked(op: int, of: CodeOf, operands: Sequence[str]) -> bytes:
    """The long form with a mask behind the result."""
    result, mask, *sources = operands
    return three(op, of, (result, *sources), mask)


def _to(result: str) -> int:
    """Where a result goes, a vector register or a mask."""
    code = code_of(result)
    if code & (ACCUMULATOR | LITERAL):
        raise UnknownError(result)
    return code & 0xFF


def packed(op: int, of: CodeOf, operands: Sequence[str], given: Sequence[str]) -> bytes:
    """Two numbers of each lane at once."""
    result, *sources = operands
    count, modifiers = len(sources), values_of(given)
    chosen = bits_of(modifiers.pop("op_sel", _list(0, count)), count)
    apart = bits_of(modifiers.pop("op_sel_hi", _list(1, count)), count)
    low = bits_of(modifiers.pop("neg_lo", _list(0, count)), count)
    high = bits_of(modifiers.pop("neg_hi", _list(0, count)), count)
    if modifiers:
        raise UnknownError(*modifiers)
    apart |= 0b111 << count & 0b111  # those that are not there are as usual
    first = _PACKED | op << 16 | high << 8 | chosen << 11 | (apart >> 2) << 14
    second = low << 29 | (apart & 0b11) << 27
    for place, source in enumerate(sources):
        code = _own(source, of)
        if code & LITERAL:
            raise UnknownError(source)
        second |= code << 9 * place
    return _TWO(first | _register(result), second)


def _list(bit: int, count: int) -> str:
    return f"[{','.join([str(bit)] * count)}]"


def from_lanes(op: int, operands: Sequence[str], given: Sequence[str]) -> bytes:
    """One operand, which other lanes of a row have."""
    result, source = operands
    word = _SINGLE | _register(result) << 17 | op << 9 | _BY_DPP
    return _TWO(word, _of_lanes(source, given))


def first_from_lanes(op: int, operands: Sequence[str], given: Sequence[str]) -> bytes:
    """Two operands, of which other lanes of a row have the first."""
    result, source, other = operands
    word = op << 25 | _register(result) << 17 | _register(other) << 9 | _BY_DPP
    return _TWO(word, _of_lanes(source, given))


def _of_lanes(source: str, given: Sequence[str]) -> int:
    how, *masks = given
    modifiers = values_of(masks)
    rows, banks = (_mask(modifiers.pop(each, "")) for each in ("row_mask", "bank_mask"))
    if modifiers:
        raise UnknownError(*given)
    return rows << 28 | banks << 24 | _control(how) << 8 | _register(source)


def _mask(value: str) -> int:
    number = number_of(value)
    if not 0 <= number <= 0xF:
        raise UnknownError(value)
    return number


def _control(how: str) -> int:
    if how in _WHOLE:
        return _WHOLE[how]
    kind, _, value = how.partition(":")
    if kind == "quad_perm":
        lanes = [number_of(each) for each in value[1:-1].split(",")]
        if len(lanes) != 4 or not set(lanes) <= {0, 1, 2, 3}:
            raise UnknownError(value)
        return sum(lane << 2 * place for place, lane in enumerate(lanes))
    number = number_of(value)
    if kind not in _ROWS or not 0 < number < 16:
        raise UnknownError(kind)
    return _ROWS[kind] + number


def of_parts(op: int, operands: Sequence[str], given: Sequence[str]) -> bytes:
    """One operand, of which some bytes are taken."""
    result, source = (_register(each) for each in operands)
    modifiers = values_of(given)
    taken = _SELECTED.get(modifiers.pop("src0_sel", ""))
    whole = {"dst_sel": "DWORD", "dst_unused": "UNUSED_PAD"}
    if taken is None or modifiers != whole:
        raise UnknownError(*given)
    word = taken << 16 | _SELECTED["DWORD"] << 8 | source
    return _TWO(_SINGLE | result << 17 | op << 9 | _BY_SDWA, word)
