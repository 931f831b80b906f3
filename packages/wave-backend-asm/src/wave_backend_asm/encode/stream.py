"""Lines of assembly one behind the other: code, and where the author's lines begin."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from wave_backend_asm.encode.instructions import machine_code
from wave_backend_asm.encode.operands import UnknownError, number_of
from wave_backend_asm.encode.scalar import JUMPS, jumped

_NOP = struct.pack("<I", 0xBF800000)
_ALIGNED = ".p2align 8"
_ALIGN = 256
_LINE_BYTES, _BEHIND = 64, 256 * 4
"""A program ends where a line of its cache does, and is followed by so many bytes."""


class Row(NamedTuple):
    """From an address on, instructions are of a place in the author's files."""

    address: int
    file: int
    line: int
    column: int


@dataclass
class Stream:
    """Code as far as it is known.

    Attributes:
        code: the bytes.
        rows: where lines begin.
    """

    code: bytearray = field(default_factory=bytearray)
    rows: list[Row] = field(default_factory=list[Row])
    _labels: dict[str, int] = field(default_factory=dict[str, int])
    _jumps: list[tuple[int, str, str]] = field(
        default_factory=list[tuple[int, str, str]]
    )

    @classmethod
    def of(cls, lines: Iterable[str]) -> Stream:
        """That of a whole program.

        Raises:
            UnknownError: there is a line that is not encoded here.
        """
        found = cls()
        found._take(lines)
        found._settle()
        return found

    @property
    def padded(self) -> bytes:
        """The code and what the machine may fetch behind it."""
        missing = -len(self.code) % _LINE_BYTES + _BEHIND
        return bytes(self.code) + _NOP * (missing // len(_NOP))

    def _take(self, lines: Iterable[str]) -> None:
        code, place = self.code, ""
        for line in lines:
            if line.startswith(".loc "):
                place = line
                continue
            if line.endswith(":"):
                self._define(line[:-1])
                continue
            if line == _ALIGNED:
                code += _NOP * (-len(code) % _ALIGN // len(_NOP))
                continue
            if place:
                self.rows.append(_row(len(code), place))
                place = ""
            code += self._coded(line)

    def _coded(self, line: str) -> bytes:
        name, _, target = line.partition(" ")
        if name not in JUMPS:
            return machine_code(line)
        self._jumps.append((len(self.code), name, target))
        return _NOP

    def _define(self, label: str) -> None:
        if label in self._labels:
            raise UnknownError(label)
        self._labels[label] = len(self.code)

    def _settle(self) -> None:
        """Let jumps lead to their labels."""
        for at, name, target in self._jumps:
            if target not in self._labels:
                raise UnknownError(target)
            distance = self._labels[target] - at - len(_NOP)
            self.code[at : at + len(_NOP)] = jumped(name, distance // len(_NOP))


def _row(address: int, place: str) -> Row:
    words = place.split(" ")[1:]
    if len(words) != len(Row._fields) - 1:
        raise UnknownError(place)
    return Row(address, *map(number_of, words))
