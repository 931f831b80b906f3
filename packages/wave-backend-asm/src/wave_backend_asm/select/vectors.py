"""Elements of words: taken out, and put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import Operand, is_scalar
from wave_backend_asm.select.basics import basic
from wave_backend_asm.select.data import WORD, Datum, words_of
from wave_backend_asm.select.missing import MissingError
from wave_core.backends.emission import Kind

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder

_HALF = 16
"""Bits of half a word."""

_TWO_HALVES = 0x05040100
_LOW_BYTES, _HIGH_BYTES = 0x0C0C0400, 0x04000C0C
"""What V_PERM_B32 takes of its operands: two halves, or two bytes and zeros."""


def element(b: Builder, datum: Datum, at: int) -> tuple[Operand, ...]:
    """One element in words of its own; bits beside it say nothing."""
    if datum.bits == 1:
        return (datum.words[at],)
    if datum.bits >= WORD:
        each = datum.bits // WORD
        return datum.words[at * each : at * each + each]
    _check_separable(datum.bits)
    word, place = divmod(at, datum.per_word)
    whole, shift = datum.words[word], place * datum.bits
    found = basic(b, "shrui", whole, shift)
    return (b.mark_part(found, whole, shift) if shift else found,)


def elements(b: Builder, datum: Datum) -> list[tuple[Operand, ...]]:
    """All elements in words of their own."""
    return [element(b, datum, at) for at in range(datum.kind.registers)]


def joined(
    b: Builder, kind: Kind, parts: Sequence[tuple[Operand, ...]]
) -> tuple[Operand, ...]:
    """The words of elements that have words of their own."""
    bits = Datum(kind, ()).bits
    if bits == 1 or bits >= WORD:
        return tuple([word for part in parts for word in part])
    _check_separable(bits)
    per_word, single = WORD // bits, [part[0] for part in parts]
    rows = [single[at : at + per_word] for at in range(0, len(single), per_word)]
    found = tuple([_packed(b, bits, row) for row in rows])
    assert len(found) == words_of(bits, kind.registers), "all of them"
    return found


def _check_separable(bits: int) -> None:
    if WORD % bits:
        raise MissingError(f"elements of {bits} bits, which lie across words")


def _packed(b: Builder, bits: int, row: Sequence[Operand]) -> Operand:
    """A word of its elements, the first one lowest."""
    if len(row) == 1:
        return row[0]
    numbers = [each for each in row if isinstance(each, int)]
    if len(numbers) == len(row):
        mask = (1 << bits) - 1
        return sum((n & mask) << at * bits for at, n in enumerate(numbers))
    whole = _whole(b, bits, row)
    if whole is not None:
        return whole
    if bits == _HALF:
        return _two_halves(b, row[0], row[1])
    if bits != 8:
        return _shifted(b, bits, row)
    low = _two(b, row[0], row[1], _LOW_BYTES)
    if len(row) == 2:
        return low
    high = _two(b, row[2], row[3] if len(row) > 3 else 0, _HIGH_BYTES)
    return basic(b, "ori", low, high)


def _two_halves(b: Builder, low: Operand, high: Operand) -> Operand:
    """Two halves as a word, taken from where they are."""
    (one, first), (two, second) = _half(b, low), _half(b, high)
    if is_scalar(low) and is_scalar(high):
        return b.salu("s_pack_ll_b32_b16", low, high)
    choice = _TWO_HALVES + (0x0202 if first else 0) + (0x02020000 if second else 0)
    return b.valu("v_perm_b32", b.in_vector(two), b.in_vector(one), choice)


def _half(b: Builder, word: Operand) -> tuple[Operand, int]:
    """The word whose half an element is, and which one; else its own, the lower one."""
    whole, shift = b.part(word)
    return (whole, shift) if shift in (0, _HALF) else (word, 0)


def _whole(b: Builder, bits: int, row: Sequence[Operand]) -> Operand | None:
    """The word that elements are, if they are all of one, in their order."""
    wholes = {b.part(each)[0] for each in row}
    places = [b.part(each)[1] for each in row]
    if len(wholes) > 1 or places != [*range(0, WORD, bits)]:
        return None
    return wholes.pop()


def _two(b: Builder, low: Operand, high: Operand, choice: int) -> Operand:
    return b.valu("v_perm_b32", b.in_vector(high), b.in_vector(low), choice)


def _shifted(b: Builder, bits: int, row: Sequence[Operand]) -> Operand:
    """Elements below a byte, one after the other."""
    found: Operand = 0
    for at, each in enumerate(row):
        part = basic(b, "andi", each, (1 << bits) - 1)
        found = basic(b, "ori", found, basic(b, "shli", part, at * bits))
    return found


def part_of(b: Builder, datum: Datum, start: int, count: int) -> Datum:
    """Neighbouring elements."""
    kind = Kind(datum.kind.item, count)
    if datum.bits == 1 or datum.bits * start % WORD:
        parts = [element(b, datum, start + at) for at in range(count)]
        return Datum(kind, joined(b, kind, parts))
    first = datum.bits * start // WORD
    return Datum(kind, datum.words[first : first + words_of(datum.bits, count)])
