"""The line table of DWARF 4 and 5: which source line an address comes from."""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LineTable:
    """Addresses in order, with the file and line from there on."""

    addresses: list[int] = field(default_factory=list[int])
    places: list[str | None] = field(default_factory=list["str | None"])

    def place(self, address: int) -> str | None:
        """``file:line`` of an address, or None where nothing is known."""
        at = bisect_right(self.addresses, address) - 1
        return self.places[at] if at >= 0 else None


class _Cursor:
    """Reads numbers one after the other."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at

    def fixed(self, form: str) -> int:
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.fixed("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self) -> int:
        start = self.at
        value = self.uleb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        value = self.data[self.at : end].decode(errors="replace")
        self.at = end + 1
        return value


def read_line_table(data: bytes, strings: bytes) -> LineTable:
    """Read ``.debug_line``; an unreadable table is an empty one.

    Line numbers help to read reports and change no result, so a table of a form that is
    not known here is left out rather than refused.
    """
    rows: list[tuple[int, str | None]] = []
    cursor = _Cursor(data, 0)
    try:
        while cursor.at < len(data):
            rows.extend(_unit(cursor, strings))
    except (struct.error, ValueError, IndexError, KeyError):
        rows = []
    rows.sort(key=lambda row: row[0])
    return LineTable([row[0] for row in rows], [row[1] for row in rows])


@dataclass
class _Header:
    minimum: int
    base: int
    span: int
    lengths: list[int]
    files: list[str]
    first: int


def _unit(cursor: _Cursor, strings: bytes) -> list[tuple[int, str | None]]:
    size = cursor.fixed("I")
    end = cursor.at + size
    version = cursor.fixed("H")
    if version >= 5:
        cursor.at += 2
    start = cursor.fixed("I") + cursor.at
    minimum = cursor.fixed("B")
    cursor.at += 2
    base, span = cursor.fixed("b"), cursor.fixed("B")
    opcodes = cursor.fixed("B")
    lengths = [cursor.fixed("B") for _ in range(opcodes - 1)]
    if version >= 5:
        _entries5(cursor, strings)  # the folders
    files = _entries5(cursor, strings) if version >= 5 else _files4(cursor)
    header = _Header(minimum, base, span, lengths, files, 0 if version >= 5 else 1)
    cursor.at = start
    return _rows(cursor, end, header)


def _files4(cursor: _Cursor) -> list[str]:
    while cursor.text():
        pass
    files: list[str] = []
    while name := cursor.text():
        files.append(name)
        for _ in range(3):
            cursor.uleb()
    return files


def _entries5(cursor: _Cursor, strings: bytes) -> list[str]:
    form = [(cursor.uleb(), cursor.uleb()) for _ in range(cursor.fixed("B"))]
    names: list[str] = []
    for _ in range(cursor.uleb()):
        name = ""
        for content, kind in form:
            value = _value5(cursor, kind, strings)
            name = str(value) if content == 1 else name
        names.append(name)
    return names


def _value5(cursor: _Cursor, kind: int, strings: bytes) -> str | int:
    if kind == 0x08:
        return cursor.text()
    if kind == 0x1F:
        return _Cursor(strings, cursor.fixed("I")).text()
    if kind == 0x0F:
        return cursor.uleb()
    if kind == 0x1E:
        cursor.at += 16
        return 0
    return cursor.fixed({0x0B: "B", 0x05: "H", 0x06: "I"}[kind])


def _rows(cursor: _Cursor, end: int, header: _Header) -> list[tuple[int, str | None]]:
    rows: list[tuple[int, str | None]] = []
    address, file, line = 0, 1, 1
    while cursor.at < end:
        code = cursor.fixed("B")
        if code > len(header.lengths):
            step = code - len(header.lengths) - 1
            address += step // header.span * header.minimum
            line += header.base + step % header.span
            rows.append((address, _place(header, file, line)))
        elif code == 0:
            size = cursor.uleb()
            stop = cursor.at + size
            kind = cursor.fixed("B")
            if kind == 1:
                rows.append((address, None))
                address, file, line = 0, 1, 1
            elif kind == 2:
                address = cursor.fixed("Q")
            cursor.at = stop
        elif code == 1:
            rows.append((address, _place(header, file, line)))
        else:
            address, file, line = _standard(cursor, code, header, (address, file, line))
    return rows


def _standard(
    cursor: _Cursor, code: int, header: _Header, state: tuple[int, int, int]
) -> tuple[int, int, int]:
    """The opcodes that change a register and emit no row."""
    address, file, line = state
    if code == 2:
        address += cursor.uleb() * header.minimum
    elif code == 3:
        line += cursor.sleb()
    elif code == 4:
        file = cursor.uleb()
    elif code == 8:
        address += (255 - len(header.lengths) - 1) // header.span * header.minimum
    elif code == 9:
        address += cursor.fixed("H")
    else:
        for _ in range(header.lengths[code - 1]):
            cursor.uleb()
    return address, file, line


def _place(header: _Header, file: int, line: int) -> str | None:
    index = file - header.first
    if line == 0 or not 0 <= index < len(header.files):
        return None
    return f"{header.files[index]}:{line}"
