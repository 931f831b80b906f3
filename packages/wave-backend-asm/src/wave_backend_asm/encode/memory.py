"""Instructions of lanes on memory: in LDS, behind a descriptor, anywhere.

Source: CDNA3 ISA, "Microcode formats": DS, MUBUF, FLAT.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from wave_backend_asm.encode.modifiers import flags_of, offset_of
from wave_backend_asm.encode.operands import (
    ACCUMULATOR,
    LITERAL,
    VECTOR,
    UnknownError,
    code_of,
)

_TWO = struct.Struct("<II").pack
_LDS, _BUFFER, _GLOBAL = 0xD8000000, 0xE0000000, 0xDC008000
_IN_BUFFER = {
    "offen": 1 << 12, "sc0": 1 << 14, "sc1": 1 << 15, "lds": 1 << 16, "nt": 1 << 17,
    "glc": 1 << 14, "slc": 1 << 17,
}  # fmt: skip
"""CDNA2 and CDNA3 have names of their own for the bits of caches."""
_ANYWHERE = {"sc0": 1 << 16, "nt": 1 << 17, "sc1": 1 << 25}


def _vector(operand: str) -> int:
    """The number of a vector register."""
    code = code_of(operand)
    if code & (ACCUMULATOR | LITERAL) or code < VECTOR:
        raise UnknownError(operand)
    return code - VECTOR


def _data(operand: str) -> tuple[int, int]:
    """The number of a register of data, and whether it is an accumulator."""
    code = code_of(operand)
    if code & LITERAL or code < VECTOR:
        raise UnknownError(operand)
    return code & 0xFF, code >> 9


def lds(
    op: int, gives: bool, operands: Sequence[str], given: Sequence[str]  # noqa: FBT001
) -> bytes:  # fmt: skip
    """A result where it gives one, an address, and up to two operands."""
    offset, rest = offset_of(given, 0, 0xFFFF)
    if rest:
        raise UnknownError(*rest)
    (result, accumulated), others = (
        (_data(operands[0]), operands[1:]) if gives else ((0, 0), operands)
    )
    address, *data = others
    high = result << 24 | _vector(address)
    files = {accumulated} if gives else set[int]()
    for place, each in enumerate(data):
        number, accumulated = _data(each)
        high |= number << 8 * (place + 1)
        files.add(accumulated)
    if len(files) > 1:
        raise UnknownError(*operands)
    return _TWO(_LDS | op << 17 | max(files) << 25 | offset, high)


def buffer(op: int, operands: Sequence[str], given: Sequence[str]) -> bytes:
    """Data, unless they go to LDS, an address, a descriptor, an offset of the wave."""
    offset, rest = offset_of(given, 0, 0xFFF)
    flags = flags_of(rest, _IN_BUFFER)
    *data, address, descriptor, further = operands
    if bool(flags & _IN_BUFFER["lds"]) != (not data):
        raise UnknownError(*operands)
    number, accumulated = _data(data[0]) if data else (0, 0)
    rows, wave = code_of(descriptor), code_of(further)
    if rows >= VECTOR or rows % 4 or wave >= VECTOR:
        raise UnknownError(*operands)
    lane = _vector(address) if flags & _IN_BUFFER["offen"] else _none(address)
    high = wave << 24 | accumulated << 23 | (rows >> 2) << 16 | number << 8 | lane
    return _TWO(_BUFFER | op << 18 | flags | offset, high)


def fence(op: int, operands: Sequence[str], given: Sequence[str]) -> bytes:
    """What caches do, which the words behind it say."""
    words = [*filter(None, operands), *given]
    return _TWO(_BUFFER | op << 18 | flags_of(words, _IN_BUFFER), 0)


def _none(address: str) -> int:
    if address != "off":
        raise UnknownError(address)
    return 0


def anywhere(
    op: int, stores: bool, operands: Sequence[str], given: Sequence[str]  # noqa: FBT001
) -> bytes:  # fmt: skip
    """Data and an address, or the other way round, and the wave's part of that."""
    offset, rest = offset_of(given, -0x1000, 0xFFF)
    flags = flags_of(rest, _ANYWHERE)
    first, second, wave = operands
    data, address = (second, first) if stores else (first, second)
    number, accumulated = _data(data)
    base = code_of(wave)
    if base > 127:
        raise UnknownError(wave)
    place = number << 8 if stores else number << 24
    high = place | accumulated << 23 | base << 16 | _vector(address)
    return _TWO(_GLOBAL | op << 18 | flags | offset & 0x1FFF, high)
