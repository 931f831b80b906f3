"""Instructions of the wave: on scalar registers, on memory, in the program's order.

Source: CDNA3 ISA, "Microcode formats": SOP1, SOP2, SOPC, SOPP, SMEM.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from wave_backend_asm.encode.modifiers import offset_of
from wave_backend_asm.encode.operands import (
    LITERAL,
    VECTOR,
    WORD,
    UnknownError,
    code_of,
    extended_code_of,
    number_of,
    plain_code_of,
)

_ONE, _TWO = struct.Struct("<I").pack, struct.Struct("<II").pack
_NOP = 0xBF800000
_BOTH, _NUMBER, _FAR = 1 << 14, 1 << 17, (1 << 20) - 1
"""A load's offset is a register and a number, or has a number; the largest."""

_WAITED = re.compile(r"(vm|exp|lgkm)cnt\((\d+)\)")
_MOST = {"vm": 63, "exp": 7, "lgkm": 15}

SINGLE = {"s_barrier": 10, "s_endpgm": 1}
NUMBERED = {"s_nop": 0, "s_sleep": 14, "s_setprio": 15}
ORDERS = frozenset({*SINGLE, *NUMBERED, "s_waitcnt"})
JUMPS = {
    "s_branch": 2, "s_cbranch_scc0": 4, "s_cbranch_scc1": 5, "s_cbranch_vccz": 6,
    "s_cbranch_vccnz": 7, "s_cbranch_execz": 8, "s_cbranch_execnz": 9,
}  # fmt: skip


def _scalar(operand: str, *, wide: bool) -> int:
    code = plain_code_of(operand) if wide else code_of(operand)
    if code & LITERAL or code < VECTOR:
        return code
    raise UnknownError(operand)


def _with_literal(word: int, *codes: int) -> bytes:
    found = {code >> WORD for code in codes if code & LITERAL}
    if len(found) > 1:
        raise UnknownError
    return _TWO(word, *found) if found else _ONE(word)


def one(op: int, wide: bool, operands: Sequence[str]) -> bytes:  # noqa: FBT001 - a row
    """A result of one operand."""
    result, operand = operands
    source = (extended_code_of if wide else code_of)(operand)
    if source >= VECTOR and not source & LITERAL:
        raise UnknownError(operand)
    to = _scalar(result, wide=True)
    return _with_literal(0xBE800000 | to << 16 | op << 8 | source & 0xFF, source)


def two(op: int, wide: bool, operands: Sequence[str]) -> bytes:  # noqa: FBT001 - a row
    """A result of two operands."""
    result, left, right = operands
    to, a, b = (_scalar(result, wide=True), *_pair(left, right, wide=wide))
    word = 0x80000000 | op << 23 | to << 16 | (b & 0xFF) << 8 | a & 0xFF
    return _with_literal(word, a, b)


def compared(op: int, wide: bool, operands: Sequence[str]) -> bytes:  # noqa: FBT001
    """A comparison of two operands."""
    left, right = operands
    a, b = _pair(left, right, wide=wide)
    return _with_literal(0xBF000000 | op << 16 | (b & 0xFF) << 8 | a & 0xFF, a, b)


def _pair(left: str, right: str, *, wide: bool) -> tuple[int, int]:
    return _scalar(left, wide=wide), _scalar(right, wide=wide)


def loaded(op: int, operands: Sequence[str], modifiers: Sequence[str]) -> bytes:
    """A load: data, address, offset as a number or a register or both."""
    data, base, offset = operands
    number, rest = offset_of(modifiers, 0, _FAR)
    if rest:
        raise UnknownError(*rest)
    word = 0xC0000000 | op << 18 | _register(data) << 6 | _register(base) >> 1
    if offset.startswith("s") and not modifiers:
        return _TWO(word, _register(offset))
    if offset.startswith("s"):
        return _TWO(word | _BOTH | _NUMBER, _register(offset) << 25 | number)
    number = number_of(offset)
    if modifiers or not 0 <= number <= _FAR:
        raise UnknownError(offset)
    return _TWO(word | _NUMBER, number)


def _register(operand: str) -> int:
    code = _scalar(operand, wide=True)
    if code >= 128:
        raise UnknownError(operand)
    return code


def ordered(name: str, operands: Sequence[str], modifiers: Sequence[str]) -> bytes:
    """What orders the others: alone, with a number, or with counters."""
    words = [*filter(None, operands), *modifiers]
    if name == "s_waitcnt":
        return waited(words)
    if name in SINGLE and not words:
        return _ONE(_NOP | SINGLE[name] << 16)
    (word,) = words
    number = number_of(word)
    if name not in NUMBERED or not 0 <= number < 16:
        raise UnknownError(word)
    return _ONE(_NOP | NUMBERED[name] << 16 | number)


def waited(counters: Sequence[str]) -> bytes:
    """A wait for some counters; the others are at their most."""
    most = dict(_MOST)
    for each in counters:
        found = _WAITED.fullmatch(each)
        if found is None or int(found[2]) > _MOST[found[1]]:
            raise UnknownError(each)
        most[found[1]] = int(found[2])
    vm = most["vm"]
    bits = vm & 15 | most["exp"] << 4 | most["lgkm"] << 8 | (vm >> 4) << 14
    return _ONE(_NOP | 12 << 16 | bits)


def jumped(name: str, distance: int) -> bytes:
    """A jump over so many words behind it.

    Raises:
        UnknownError: it is too far.
    """
    if not -(1 << 15) <= distance < 1 << 15:
        raise UnknownError(name)
    return _ONE(_NOP | JUMPS[name] << 16 | distance & 0xFFFF)
