"""Objects of one kernel, as LLVM writes them.

An object with anything else is not read, and lld has to link it: constants in memory,
functions that are called, places of the kernel's lines.

Source: the ELF specification; LLVM's "User Guide for AMDGPU Backend", code objects.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QIIq")

MACHINE = 224
RELOCATABLE = 1
DESCRIPTOR_BYTES = 64
ENTRY = 16
"""Where a descriptor says how far behind itself the code begins."""

FUNCTION, DESCRIPTOR = (0x12, 3), (0x11, 0)
"""A global protected function, and a global object: the symbols' info and other."""

_SECTIONS = (
    (".text", 1, 0x6, 256),
    (".rodata", 1, 0x2, DESCRIPTOR_BYTES),
    (".rela.rodata", 4, 0x40, 8),
    (".AMDGPU.gpr_maximums", 1, 0, 1),
    (".note.GNU-stack", 1, 0, 1),
    (".note", 7, 0x2, 4),
    (".symtab", 2, 0, 8),
)
"""Name, type, flags and alignment, behind none and the section of names."""


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
    """

    identity: bytes
    flags: int
    name: bytes
    size: int
    code: bytes
    descriptor: bytes
    note: bytes


def is_object(data: bytes) -> bool:
    """Whether it is an ELF file that has not been linked."""
    return data[:4] == b"\x7fELF" and HEADER.unpack_from(data)[1] == RELOCATABLE


def read_object(data: bytes) -> KernelObject | None:
    """The kernel of an object; ``None`` where it has anything else."""
    head = HEADER.unpack_from(data)
    place, flags, count, names = head[6], head[7], head[12], head[13]
    if head[1:3] != (RELOCATABLE, MACHINE) or (count, names) != (9, 1):
        return None
    rows = [SECTION.unpack_from(data, place + n * SECTION.size) for n in range(count)]
    parts = [data[row[4] : row[4] + row[5]] for row in rows]
    strings = parts[1]
    found = tuple((_name(strings, r[0]), r[1], r[2], r[8]) for r in rows[2:])
    if found != tuple((n.encode(), *rest) for n, *rest in _SECTIONS):
        return None
    code, descriptor, moved, maximums, stack, note, symbols = parts[2:]
    named = _symbols(symbols, strings, moved)
    if named is None or maximums or stack or len(descriptor) != DESCRIPTOR_BYTES:
        return None
    return KernelObject(head[0], flags, *named, code, descriptor, note)


def _symbols(symbols: bytes, strings: bytes, moved: bytes) -> tuple[bytes, int] | None:
    """The function's name and size, where that and its descriptor are all there is."""
    relocation = RELOCATION.pack(ENTRY, 5, 1, ENTRY)
    if len(symbols) != 3 * SYMBOL.size or moved != relocation:
        return None
    function, descriptor = [
        SYMBOL.unpack_from(symbols, n * SYMBOL.size) for n in (1, 2)
    ]
    name = _name(strings, function[0])
    expected = (*FUNCTION, 2, 0), (*DESCRIPTOR, 3, 0, DESCRIPTOR_BYTES)
    if (function[1:5], descriptor[1:]) != expected:
        return None
    if _name(strings, descriptor[0]) != name + b".kd":
        return None
    return name, function[5]


def _name(strings: bytes, place: int) -> bytes:
    return strings[place : strings.index(0, place)]
