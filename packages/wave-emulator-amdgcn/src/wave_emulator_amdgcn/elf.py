"""Reads the parts of an ELF file that a code object needs."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from wave_emulator_amdgcn.errors import CodeObjectError

EM_AMDGPU = 224
"""Machine number of AMDGPU (LLVM AMDGPU usage, ELF header)."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLES = (2, 11)
_NOTE = 7
_LOAD = 1


@dataclass(frozen=True)
class Section:
    """A section: its name, kind, virtual address and bytes."""

    name: str
    kind: int
    address: int
    data: bytes


@dataclass(frozen=True)
class Symbol:
    """A symbol: a value is a virtual address."""

    name: str
    value: int
    size: int


@dataclass(frozen=True)
class ElfFile:
    """The contents of a file.

    Attributes:
        flags: ``e_flags``; the low byte is the machine.
        sections: by order in the file.
        symbols: by name.
        image: virtual address and bytes of each loaded segment.
    """

    flags: int
    sections: tuple[Section, ...]
    symbols: dict[str, Symbol]
    image: tuple[tuple[int, bytes], ...]

    def section(self, name: str) -> bytes:
        """Bytes of a section; empty where there is none."""
        for section in self.sections:
            if section.name == name:
                return section.data
        return b""

    def part(self, address: int, size: int = 1) -> tuple[int, bytes] | None:
        """The loaded segment that holds some bytes: its address, its content."""
        for start, data in self.image:
            if start <= address and address + size <= start + len(data):
                return start, data
        return None

    def read(self, address: int, size: int) -> bytes:
        """Bytes at a virtual address.

        Raises:
            CodeObjectError: EM0101, they are not in the file.
        """
        found = self.part(address, size)
        if found is None:
            raise CodeObjectError("EM0101", f"no bytes at address {address:#x}")
        return found[1][address - found[0] :][:size]

    def notes(self) -> list[tuple[str, int, bytes]]:
        """Name, kind and content of each note."""
        found: list[tuple[str, int, bytes]] = []
        for section in self.sections:
            if section.kind == _NOTE:
                found.extend(_notes(section.data))
        return found


def read_elf(data: bytes) -> ElfFile:
    """Read a code object.

    Raises:
        CodeObjectError: EM0101, not an AMDGPU ELF or truncated.
    """
    if len(data) < _HEADER.size or data[:4] != b"\x7fELF":
        raise CodeObjectError("EM0101", "no ELF header")
    if data[4] != 2 or data[5] != 1:
        raise CodeObjectError("EM0101", "not a little-endian 64-bit ELF")
    header = _HEADER.unpack_from(data)
    if header[2] != EM_AMDGPU:
        raise CodeObjectError("EM0101", f"machine {header[2]} is not AMDGPU")
    try:
        return _read(data, header)
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        raise CodeObjectError("EM0101", f"truncated or malformed: {error}") from error


def _read(data: bytes, header: tuple[int, ...]) -> ElfFile:
    program, table, flags = header[5], header[6], header[7]
    segments, count, names_at = header[10], header[12], header[13]
    rows: list[tuple[int, ...]] = [
        _SECTION.unpack_from(data, table + i * _SECTION.size) for i in range(count)
    ]
    contents = [_slice(data, row) for row in rows]
    names = contents[names_at]
    sections = tuple(
        Section(_text(names, row[0]), row[1], row[3], content)
        for row, content in zip(rows, contents, strict=True)
    )
    symbols: dict[str, Symbol] = {}
    for row, content in zip(rows, contents, strict=True):
        if row[1] in _SYMBOL_TABLES:
            symbols.update(_symbols(content, contents[row[6]]))
    image = tuple(_segment(data, program + i * _SEGMENT.size) for i in range(segments))
    return ElfFile(flags, sections, symbols, tuple(part for part in image if part[1]))


def _slice(data: bytes, row: tuple[int, ...]) -> bytes:
    kind, offset, size = row[1], row[4], row[5]
    if kind == 8 or kind == 0:  # noqa: PLR1714 - SHT_NOBITS, SHT_NULL
        return b""
    if offset + size > len(data):
        raise ValueError("a section ends beyond the file")
    return data[offset : offset + size]


def _segment(data: bytes, at: int) -> tuple[int, bytes]:
    kind, _, offset, address, _, size, _, _ = _SEGMENT.unpack_from(data, at)
    if kind != _LOAD:
        return 0, b""
    if offset + size > len(data):
        raise ValueError("a segment ends beyond the file")
    return address, data[offset : offset + size]


def _symbols(content: bytes, names: bytes) -> dict[str, Symbol]:
    found: dict[str, Symbol] = {}
    for at in range(0, len(content) - _SYMBOL.size + 1, _SYMBOL.size):
        name, _, _, _, value, size = _SYMBOL.unpack_from(content, at)
        text = _text(names, name)
        if text:
            found[text] = Symbol(text, value, size)
    return found


def _text(names: bytes, at: int) -> str:
    return names[at : names.index(b"\0", at)].decode()


def _notes(data: bytes) -> list[tuple[str, int, bytes]]:
    found: list[tuple[str, int, bytes]] = []
    at = 0
    while at + 12 <= len(data):
        name_size, size, kind = struct.unpack_from("<III", data, at)
        at += 12
        name = data[at : at + name_size].rstrip(b"\0").decode()
        at += (name_size + 3) & ~3
        if at + size > len(data):
            raise ValueError("a note ends beyond its section")
        found.append((name, kind, data[at : at + size]))
        at += (size + 3) & ~3
    return found
