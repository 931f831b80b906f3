"""Words one after the other, and the numbers among them (PTX ISA, section 4.5)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from wave_emulator_ptx.errors import PtxSyntaxError
from wave_emulator_ptx.lexer import Word
from wave_emulator_ptx.syntax import Number

T = TypeVar("T")

BASES = {
    16: re.compile(r"0[xX]([0-9a-fA-F]+)U?"),
    2: re.compile(r"0[bB]([01]+)U?"),
    8: re.compile(r"0([0-7]*)U?"),
    10: re.compile(r"([1-9][0-9]*)U?"),
}
"""How integers are written, by their base."""
MOST_DIGITS = 20
"""Of a decimal number of 64 bits; Python refuses to read some thousands."""


class Reader:
    """Reads words from the first to the last."""

    def __init__(self, found: list[Word]) -> None:
        """Begin with the first of them."""
        last = found[-1].line if found else 1
        self._words = [*found, Word("end", "the end", last)]
        self._at = 0

    @property
    def _next(self) -> Word:
        return self._words[self._at]

    def _take(self) -> Word:
        word = self._next
        self._at += word.kind != "end"
        return word

    def _try(self, text: str) -> bool:
        found = self._next.text == text and self._next.kind != "end"
        self._at += found
        return found

    def _expect(self, text: str) -> Word:
        if self._next.text != text:
            raise self._problem(f"`{text}` is missing before `{self._next.text}`")
        return self._take()

    def _kind(self, kind: str) -> Word:
        if self._next.kind != kind:
            raise self._problem(f"a {kind} is missing before `{self._next.text}`")
        return self._take()

    def _identifier(self) -> str:
        """A name that is declared; one with a point is a part of another one."""
        if "." in self._next.text:
            raise self._problem(f"`{self._next.text}` cannot be declared")
        return self._kind("name").text

    def _integer(self) -> int:
        minus = self._try("-")
        value = self._natural()
        return -value if minus else value

    def _natural(self) -> int:
        """An integer without a sign."""
        word = self._kind("number")
        return integer(word.text, word.line)

    def _positive(self) -> int:
        value = self._natural()
        if not value:
            raise self._problem("0 is too few")
        return value

    def _literal(self) -> Number:
        """An integer, or the bits of a float, whose sign is among them."""
        minus = self._try("-")
        word = self._kind("number")
        found = number(word)
        if minus and found.width:
            message = f"`-{word.text}`: the sign is among the bits"
            raise PtxSyntaxError(message, word.line)
        return Number(-found.value) if minus else found

    def _list(self, end: str, read: Callable[[], T]) -> list[T]:
        """What stands before a sign, with commas between."""
        found: list[T] = []
        if self._try(end):
            return found
        while True:
            found.append(read())
            if self._try(end):
                return found
            if not self._try(","):
                before = self._next.text
                raise self._problem(f"`,` or `{end}` is missing before `{before}`")

    def _problem(self, message: str) -> PtxSyntaxError:
        return PtxSyntaxError(message, self._next.line)


def number(word: Word) -> Number:
    """A literal.

    Raises:
        PtxSyntaxError: EP0101, it is a fraction, or no number of 64 bits.
    """
    text = word.text
    if text[:2] in {"0f", "0F"}:
        return Number(_bits(text), 32)
    if text[:2] in {"0d", "0D"}:
        return Number(_bits(text), 64)
    if "." in text:
        raise PtxSyntaxError(f"`{text}` is a decimal fraction", word.line)
    return Number(integer(text, word.line))


def integer(text: str, line: int) -> int:
    """An integer: octal behind 0, hexadecimal behind 0x, binary behind 0b, or decimal.

    Raises:
        PtxSyntaxError: EP0101, it has a digit that its base has not, or more than 64
            bits.
    """
    for base, written in BASES.items():
        match = written.fullmatch(text)
        if match is None:
            continue
        digits = match[1] or "0"
        if base != 10 or len(digits) <= MOST_DIGITS:
            value = int(digits, base)
            if value < 1 << 64:
                return value
        raise PtxSyntaxError(f"`{text[:32]}` has more than 64 bits", line)
    raise PtxSyntaxError(f"`{text[:32]}` is no integer", line)


def _bits(text: str) -> int:
    """The bits of ``0fXXXXXXXX`` or ``0dXXXXXXXXXXXXXXXX``."""
    return int.from_bytes(bytes.fromhex(text[2:]), "big")
