"""The table of the author's lines, as LLVM writes it.

Source: DWARF 4, 6.2; its special opcodes are used as LLVM's `MCDwarfLineAddr` does.
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Mapping, Sequence

from wave_backend_asm.encode.operands import UnknownError
from wave_backend_asm.encode.stream import Row

_VERSION = 4
_UNIT, _BASE, _RANGE, _FIRST = 4, -5, 14, 13
"""Bytes of an address's step; the first line step, how many there are, their codes."""

_LENGTHS = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
_COPY, _STEP, _LINES, _FILE, _COLUMN, _FURTHER = 1, 2, 3, 4, 5, 8
_MOST = 255
_JUMP = (_MOST - _FIRST) // _RANGE
"""Steps of the address of `_FURTHER`."""

_END, _ADDRESS = b"\0\1\1", b"\0\x09\2"
_ORIGIN = _ADDRESS + bytes(8)


def line_table(
    files: Mapping[int, str], rows: Sequence[Row], end: int
) -> tuple[bytes, int]:
    """The table, and where in it the address of the code comes.

    Args:
        files: names by number.
        rows: where lines begin, in bytes of the code.
        end: bytes of the code.

    Raises:
        UnknownError: a name is not written here.
    """
    names = _names(files)
    head = bytes((_UNIT, 1, 1, _BASE & 0xFF, _RANGE, _FIRST)) + _LENGTHS + names
    front = struct.pack("<HI", _VERSION, len(head)) + head
    program, origin = _program(rows, end)
    length = struct.pack("<I", len(front) + len(program))
    return length + front + program, len(length) + len(front) + origin


def _names(files: Mapping[int, str]) -> bytes:
    """Folders in the order of their first files, and the files."""
    if sorted(files) != [*range(1, len(files) + 1)]:
        raise UnknownError(*files.values())
    folders: dict[str, int] = {"": 0}
    found = b""
    for _, name in sorted(files.items()):
        if not name.isascii() or not name.isprintable() or {'"', "\\"} & set(name):
            raise UnknownError(name)
        folder, base = posixpath.split(name)
        number = folders.setdefault(folder, len(folders))
        found += base.encode() + b"\0" + _unsigned(number) + b"\0\0"
    listed = b"".join(each.encode() + b"\0" for each in [*folders][1:])
    return listed + b"\0" + found + b"\0"


def _program(rows: Sequence[Row], end: int) -> tuple[bytes, int]:
    """What a machine of the table executes, and where it has the first address."""
    found, origin = bytearray(), 0
    last = Row(0, 1, 1, 0)
    for number, row in enumerate(rows):
        if row.file != last.file:
            found += bytes((_FILE,)) + _unsigned(row.file)
        if row.column != last.column:
            found += bytes((_COLUMN,)) + _unsigned(row.column)
        if not number:
            origin = len(found) + len(_ADDRESS)
            found += _ORIGIN
            last = last._replace(address=row.address)
        found += _advance(row.line - last.line, row.address - last.address)
        last = row
    steps = (end - last.address) // _UNIT
    if steps == _JUMP:
        found.append(_FURTHER)
    elif steps:
        found += bytes((_STEP,)) + _unsigned(steps)
    return bytes(found) + _END, origin


def _advance(lines: int, distance: int) -> bytes:
    """A new row so many lines and bytes behind the last one."""
    steps, front = distance // _UNIT, b""
    copied = not 0 <= lines - _BASE < _RANGE or lines - _BASE + _FIRST > _MOST
    if copied:
        front, lines = bytes((_LINES,)) + _signed(lines), 0
    if not lines and not steps:
        return front + bytes((_COPY,))
    code = lines - _BASE + _FIRST
    near, far = code + steps * _RANGE, code + (steps - _JUMP) * _RANGE
    if near <= _MOST:
        return front + bytes((near,))
    if _FIRST <= far <= _MOST:
        return front + bytes((_FURTHER, far))
    last = _COPY if copied else code
    return front + bytes((_STEP,)) + _unsigned(steps) + bytes((last,))


def _unsigned(number: int) -> bytes:
    """Source: DWARF 4, 7.6, "Unsigned LEB128"."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _signed(number: int) -> bytes:
    """Source: DWARF 4, 7.6, "Signed LEB128"."""
    found = bytearray()
    while not -0x40 <= number < 0x40:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number & 0x7F)
    return bytes(found)
