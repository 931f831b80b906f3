"""Products of matrices, and what moves numbers to accumulators and from them.

Source: CDNA3 ISA, "Microcode formats": VOP3P-MAI; CDNA4 ISA, VOP3PX2.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wave_backend_asm.encode.modifiers import bits_of, values_of
from wave_backend_asm.encode.operands import (
    ACCUMULATOR,
    LITERAL,
    MASK,
    VECTOR,
    UnknownError,
    code_of,
    number_of,
    plain_code_of,
)

if TYPE_CHECKING:
    from wave_backend_asm.encode.vector import CodeOf

_TWO, _FOUR = struct.Struct("<II").pack, struct.Struct("<IIII").pack
_PRODUCT = 0xD3800000
_READ, _WRITE, _SCALES = 88, 89, 44
_MOST = 7
_USUAL = 1 << 14, 0b11 << 27
"""Upper halves are those of both numbers, as for packed ones."""

_WITH_SCALES = 1 << 11


def product(
    op: int, sums: CodeOf, operands: Sequence[str], given: Sequence[str]
) -> bytes:
    """A product of two operands, and what it is added to, whose code `sums` knows."""
    return _product(op, sums, operands, values_of(given) if given else {})


def _product(
    op: int, sums: CodeOf, operands: Sequence[str], formats: Mapping[str, str]
) -> bytes:
    result, left, right, onto = operands
    to, a, b = (plain_code_of(each) for each in (result, left, right))
    c = sums(onto)
    wrong = c & LITERAL or (c >= VECTOR and (to ^ c) & ACCUMULATOR)
    if wrong or min(to, a, b) < VECTOR:
        raise UnknownError(*operands)
    low = _PRODUCT | op << 16 | to & 0xFF | (to & ACCUMULATOR) << 6
    files = a >> 9 | (b >> 9) << 1
    high = (c & MASK) << 18 | (b & MASK) << 9 | a & MASK | files << 27
    for name, value in formats.items():
        number = number_of(value)
        if name not in {"cbsz", "blgp"} or not 0 <= number <= _MOST:
            raise UnknownError(name)
        low, high = (low | number << 8, high) if name == "cbsz" else (
            low, high | number << 29
        )  # fmt: skip
    return _TWO(low, high)


def scaled(op: int, operands: Sequence[str], given: Sequence[str]) -> bytes:
    """A product whose operands have scales, which come behind the others."""
    *factors, left, right = operands
    formats = values_of(given)
    chosen = bits_of(formats.pop("op_sel", "[0,0,0]"), 3)
    further = bits_of(formats.pop("op_sel_hi", "[0,0,0]"), 3)
    a, b = (code_of(each) for each in (left, right))
    if (a | b) & (LITERAL | ACCUMULATOR) or (chosen | further) & 0b100:
        raise UnknownError(left, right)
    low = _PRODUCT | _SCALES << 16 | chosen << 11
    first, second = struct.unpack("<II", _product(op, code_of, factors, formats))
    return _FOUR(low, further << 27 | b << 9 | a, first | _WITH_SCALES, second)


def read(operands: Sequence[str]) -> bytes:
    """An accumulator to a vector register."""
    to, of = (plain_code_of(each) for each in operands)
    if to & ACCUMULATOR or to < VECTOR or not of & ACCUMULATOR:
        raise UnknownError(*operands)
    low = _PRODUCT | _READ << 16 | _USUAL[0] | to & 0xFF
    return _TWO(low, _USUAL[1] | of & MASK)


def written(operands: Sequence[str]) -> bytes:
    """A vector register or a number to an accumulator."""
    to, of = (code_of(each) for each in operands)
    if not to & ACCUMULATOR or of & (ACCUMULATOR | LITERAL):
        raise UnknownError(*operands)
    return _TWO(_PRODUCT | _WRITE << 16 | _USUAL[0] | to & 0xFF, _USUAL[1] | of)
