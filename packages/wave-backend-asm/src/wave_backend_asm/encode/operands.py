"""Operands as fields of instructions have them.

Source: CDNA3 ISA, "Scalar operands" and the source operands of vector instructions.
"""

from __future__ import annotations

import re
import struct
from functools import cache, lru_cache

VECTOR = 256
"""From here on, vector registers; those of accumulators have one bit more."""

ACCUMULATOR = 512
MASK = ACCUMULATOR - 1

LITERAL = 1024
"""Marks a number that takes a word of its own, which stands from `WORD` on."""

WORD = 11

_LITERAL_CODE = 255
_LARGEST = 64
"""The largest number that takes no word of its own."""

_WORDS = {"vcc": 106, "m0": 124, "exec": 126, "off": 127}
_FILES = {"s": 0, "v": VECTOR, "a": VECTOR | ACCUMULATOR}
_REGISTER = re.compile(r"([sva])(?:(\d+)|\[(\d+):\d+\])")
_NUMBER = re.compile(r"-?(?:0x[0-9a-f]+|\d+)")

_VALUES = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0)
"""Floats that take no word, whatever bits they have, by their codes from 240 on."""

_FLOATS = {
    struct.unpack("<I", struct.pack("<f", value))[0]: 240 + number
    for number, value in enumerate(_VALUES)
} | {0x3E22F983: 248}
"""Those of 32 bits; the last is one over two pi."""

_SAID = {str(value): 240 + number for number, value in enumerate(_VALUES)}


class UnknownError(Exception):
    """What is not encoded here: LLVM knows, or says what is wrong."""


@lru_cache(maxsize=1 << 14)
def code_of(operand: str) -> int:
    """Of an operand of 32 bits or of registers.

    Raises:
        UnknownError: it is another word.
    """
    return _code(operand, floats=True)


@cache
def plain_code_of(operand: str) -> int:
    """Of an operand of another width, whose floats are others: a small number if any.

    Raises:
        UnknownError: it is something else.
    """
    return _code(operand, floats=False)


@lru_cache(maxsize=1 << 14)
def extended_code_of(operand: str) -> int:
    """Of a pair of registers, or of a number that fills one with zeros above.

    Raises:
        UnknownError: it is another word.
    """
    if _NUMBER.fullmatch(operand) is None or number_of(operand) <= _LARGEST:
        return plain_code_of(operand)
    return number_of(operand) << WORD | LITERAL | _LITERAL_CODE


def _code(operand: str, *, floats: bool) -> int:
    found = _REGISTER.fullmatch(operand)
    if found is not None:
        return _FILES[found[1]] + int(found[2] or found[3])
    if operand in _WORDS:
        return _WORDS[operand]
    if operand in _SAID:
        return _SAID[operand]
    number = number_of(operand)
    if floats and number >> 31 == 1:
        number -= 1 << 32
    if -16 <= number <= _LARGEST:
        return 128 + number if number >= 0 else 192 - number
    if not floats:
        raise UnknownError(operand)
    word = number & 0xFFFFFFFF
    return _FLOATS.get(word) or word << WORD | LITERAL | _LITERAL_CODE


def number_of(text: str) -> int:
    """A number that is a field by itself.

    Raises:
        UnknownError: it is none of 32 bits.
    """
    if _NUMBER.fullmatch(text) is None:
        raise UnknownError(text)
    number = int(text, 0)
    if not -(1 << 31) <= number < 1 << 32:
        raise UnknownError(text)
    return number
