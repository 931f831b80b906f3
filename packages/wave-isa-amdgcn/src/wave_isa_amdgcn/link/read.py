"""Objects of one kernel, as LLVM writes them.

An object with anything else is not read, and lld has to link it: constants in memory,
functions that are called, what a debugger asks beside the kernel's lines.

Source: the ELF specification; LLVM's "User Guide for AMDGPU Backend", code objects.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QIIq")
ADDRESS = struct.Struct("<Q")

MACHINE = 224
RELOCATABLE = 1
DESCRIPTOR_BYTES = 64
ENTRY = 16
"""Where a descriptor says how far behind itself the code begins."""

FUNCTION, DESCRIPTOR = (0x12, 3), (0x11, 0)
"""A global protected function, and a global object: the symbols' info and other."""

_CODE_ITSELF = SYMBOL.pack(0, 3, 0, 2, 0, 0)
"""The symbol of the section of code, from which lines are counted."""

_ABSOLUTE, _RELATIVE = 3, 5
"""Relocations of 64 bits: an address, and a distance."""

_SECTIONS = {
    ".text": (1, 0x6, 256),
    ".rodata": (1, 0x2, DESCRIPTOR_BYTES),
    ".rela.rodata": (4, 0x40, 8),
    ".AMDGPU.gpr_maximums": (1, 0, 1),
    ".note.GNU-stack": (1, 0, 1),
    ".note": (7, 0x2, 4),
    ".debug_line": (1, 0, 1),
    ".rela.debug_line": (4, 0x40, 8),
    ".symtab": (2, 0, 8),
}
"""Type, flags and alignment of the sections behind none and that of names."""

_GENERATED = (
    *(b".text", b".rodata", b".rela.rodata", b".AMDGPU.gpr_maximums"),
    *(b".note.GNU-stack", b".note", b".symtab"),
)
"""Their order as LLVM generates code."""

_ASSEMBLED = (
    *(b".text", b".rodata", b".rela.rodata", b".note", b".AMDGPU.gpr_maximums"),
    *(b".note.GNU-stack", b".symtab"),
)
"""As it assembles a text."""

_WITH_LINES = (*_ASSEMBLED[:-1], b".debug_line", b".rela.debug_line", b".symtab")
"""As it assembles one that says its lines."""


@dataclass(frozen=True)
class KernelObject:
    """One kernel.

    Attributes:
        identity: The first bytes of the file, to the version of the ABI.
        flags: The machine.
        name: The kernel's.
        size: Bytes of its function; the code may have some more behind it.
        code: Instructions.
        descriptor: What the machine reads before it starts the kernel.
        note: What describes it to the runtime.
        lines: The table of its lines; ``None`` without.
        origin: Where that table has the address of the code, in bytes.
    """

    identity: bytes
    flags: int
    name: bytes
    size: int
    code: bytes
    descriptor: bytes
    note: bytes
    lines: bytes | None = None
    origin: int = 0


def is_object(data: bytes) -> bool:
    """Whether it is an ELF file that has not been linked."""
    return data[:4] == b"\x7fELF" and HEADER.unpack_from(data)[1] == RELOCATABLE


def read_object(data: bytes) -> KernelObject | None:
    """The kernel of an object; ``None`` where it has anything else."""
    head = HEADER.unpack_from(data)
    parts = _parts(data, head)
    if parts is None or len(parts[".rodata"]) != DESCRIPTOR_BYTES:
        return None
    if parts[".AMDGPU.gpr_maximums"] or parts[".note.GNU-stack"]:
        return None
    named, origin = _named(parts), _origin(parts)
    if named is None or origin is None:
        return None
    code, descriptor, note = (parts[name] for name in (".text", ".rodata", ".note"))
    lines = parts.get(".debug_line")
    return KernelObject(head[0], head[7], *named, code, descriptor, note, lines, origin)


def _parts(data: bytes, head: tuple[Any, ...]) -> dict[str, bytes] | None:
    """What its sections hold, by their names; of others, nothing."""
    place, count, names = head[6], head[12], head[13]
    if head[1:3] != (RELOCATABLE, MACHINE) or names != 1 or count <= names:
        return None
    rows = [SECTION.unpack_from(data, place + n * SECTION.size) for n in range(count)]
    contents = [data[row[4] : row[4] + row[5]] for row in rows]
    titles = tuple(_name(contents[names], row[0]) for row in rows[2:])
    if titles not in {_GENERATED, _ASSEMBLED, _WITH_LINES}:
        return None
    found = {"": contents[names]}
    for title, row, content in zip(titles, rows[2:], contents[2:], strict=True):
        name = title.decode()
        if (row[1], row[2], row[8]) != _SECTIONS[name]:
            return None
        found[name] = content
    return found


def _named(parts: dict[str, bytes]) -> tuple[bytes, int] | None:
    """The function's name and size, where that and its descriptor are all there is."""
    symbols, strings = parts[".symtab"], parts[""]
    others = bytes(SYMBOL.size)
    if ".debug_line" in parts:
        others += _CODE_ITSELF
    first = len(others) // SYMBOL.size
    moved = RELOCATION.pack(ENTRY, _RELATIVE, first, ENTRY)
    if len(symbols) != len(others) + 2 * SYMBOL.size:
        return None
    if not symbols.startswith(others) or parts[".rela.rodata"] != moved:
        return None
    function, descriptor = SYMBOL.iter_unpack(symbols[len(others) :])
    name = _name(strings, function[0])
    expected = (*FUNCTION, 2, 0), (*DESCRIPTOR, 3, 0, DESCRIPTOR_BYTES)
    if (function[1:5], descriptor[1:]) != expected:
        return None
    if _name(strings, descriptor[0]) != name + b".kd":
        return None
    return name, function[5]


def _origin(parts: dict[str, bytes]) -> int | None:
    """Where the table of lines has the address of the code; 0 without one.

    ``None`` where it has any other address, or none.
    """
    moved = parts.get(".rela.debug_line")
    if moved is None:
        return 0
    if len(moved) != RELOCATION.size:
        return None
    place, kind, symbol, further = RELOCATION.unpack(moved)
    end = len(parts[".debug_line"]) - ADDRESS.size
    if (kind, symbol, further) != (_ABSOLUTE, 1, 0) or place > end:
        return None
    return place


def _name(strings: bytes, place: int) -> bytes:
    return strings[place:].partition(b"\0")[0]
