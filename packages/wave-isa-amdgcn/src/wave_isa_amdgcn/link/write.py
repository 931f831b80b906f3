"""The code object of one kernel, byte by byte as lld writes it.

The layout is lld's for ``-shared`` and what `read` reads: three segments, for what is
read, for the code, and for the table that a loader begins with.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace

from wave_isa_amdgcn.link.read import (
    ADDRESS,
    DESCRIPTOR,
    DESCRIPTOR_BYTES,
    ENTRY,
    FUNCTION,
    HEADER,
    MACHINE,
    SECTION,
    SYMBOL,
    KernelObject,
)

PAGE = 0x1000
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SEGMENTS = 8
_LINKER = b"IREE\0"
"""What IREE has its linker sign with."""

_DESCRIPTOR_AT, _CODE_AT, _TABLE_AT, _LINES_AT = 6, 7, 8, 11


@dataclass(frozen=True)
class _Section:
    """A section; its place in the file and its address are settled by `_placed`."""

    name: bytes
    kind: int
    flags: int
    align: int
    data: bytes
    link: int = 0
    info: int = 0
    entry: int = 0
    size: int = -1
    offset: int = 0
    address: int = 0
    segment: bool = field(default=False, kw_only=True)

    @property
    def bytes(self) -> int:
        return len(self.data) if self.size < 0 else self.size

    @property
    def end(self) -> int:
        return self.address + self.bytes


def write_code(kernel: KernelObject) -> bytes | None:
    """The code object; ``None`` where its last page is full: lld has a rule for it."""
    placed = _placed(_sections(kernel))
    table = placed[_TABLE_AT]
    if table.end % PAGE == 0:
        return None
    padding = PAGE - table.end % PAGE
    placed[_TABLE_AT + 1] = replace(placed[_TABLE_AT + 1], size=padding)
    for number, data in _settled(kernel, placed).items():
        placed[number] = replace(placed[number], data=data)
    return _file(kernel, placed)


def _sections(kernel: KernelObject) -> list[_Section]:
    """All, with blanks where addresses come."""
    name = kernel.name
    names = b"\0" + name + b"\0" + name + b".kd\0"
    blank = bytes(SYMBOL.size)
    lines = kernel.lines
    found = [
        _Section(b"", 0, 0, 1, b""),
        _Section(b".note", 7, 2, 4, kernel.note),
        _Section(b".dynsym", 11, 2, 8, 3 * blank, 5, 1, SYMBOL.size),
        _Section(b".gnu.hash", 0x6FFFFFF6, 2, 8, _gnu_table(name), 2),
        _Section(b".hash", 5, 2, 4, _table(name), 2, 0, 4),
        _Section(b".dynstr", 3, 2, 1, names),
        _Section(b".rodata", 1, 2, DESCRIPTOR_BYTES, kernel.descriptor),
        _Section(b".text", 1, 6, 256, kernel.code, segment=True),
        _Section(b".dynamic", 6, 3, 8, bytes(7 * 16), 5, 0, 16, segment=True),
        _Section(b".relro_padding", 8, 3, 1, b""),
        _Section(b".AMDGPU.gpr_maximums", 1, 0, 1, b""),
        *([] if lines is None else [_Section(b".debug_line", 1, 0, 1, lines)]),
        _Section(b".comment", 1, 0x30, 1, _LINKER, 0, 0, 1),
    ]
    # Its names are in the last section, behind it and the names of sections.
    names_at = len(found) + 2
    found.append(_Section(b".symtab", 2, 0, 8, 4 * blank, names_at, 2, SYMBOL.size))
    titles = [*(each.name for each in found), b".shstrtab", b".strtab"]
    found.append(_Section(titles[-2], 3, 0, 1, b"\0".join(titles) + b"\0"))
    found.append(_Section(titles[-1], 3, 0, 1, names + b"_DYNAMIC\0"))
    return found


def _placed(sections: list[_Section]) -> list[_Section]:
    """Each behind the one before; what is loaded otherwise begins another page."""
    offset = address = HEADER.size + _SEGMENTS * _SEGMENT.size
    found = sections[:1]
    for each in sections[1:]:
        if each.segment:
            address = _up(address, PAGE) + address % PAGE
        address = _up(address, each.align)
        if each.segment:
            offset += (address - offset) % PAGE
        offset = _up(offset, each.align)
        place = address if each.flags & 2 else 0
        found.append(replace(each, offset=offset, address=place))
        offset, address = offset + each.bytes, address + each.bytes
    return found


def _settled(kernel: KernelObject, placed: list[_Section]) -> dict[int, bytes]:
    """What has addresses in it, by the section's number."""
    descriptor, code, table = placed[_DESCRIPTOR_AT : _TABLE_AT + 1]
    names = 1, len(kernel.name) + 2
    none = bytes(SYMBOL.size)
    own = SYMBOL.pack(
        names[1] + len(kernel.name) + 4, 0, 2, _TABLE_AT, table.address, 0
    )
    function = SYMBOL.pack(names[0], *FUNCTION, _CODE_AT, code.address, kernel.size)
    described = SYMBOL.pack(
        names[1], *DESCRIPTOR, _DESCRIPTOR_AT, descriptor.address, DESCRIPTOR_BYTES
    )
    begins = struct.pack("<q", code.address - descriptor.address)
    found = {
        2: none + function + described,
        _DESCRIPTOR_AT: _put(kernel.descriptor, ENTRY, begins),
        _TABLE_AT: _loader_table(placed),
        len(placed) - 3: none + own + function + described,
    }
    if kernel.lines is not None:
        at = ADDRESS.pack(code.address)
        found[_LINES_AT] = _put(kernel.lines, kernel.origin, at)
    return found


def _put(data: bytes, place: int, part: bytes) -> bytes:
    return data[:place] + part + data[place + len(part) :]


def _loader_table(placed: list[_Section]) -> bytes:
    symbols, gnu_hash, hashes, names = [each.address for each in placed[2:6]]
    rows = (
        (6, symbols), (11, SYMBOL.size), (5, names), (10, placed[5].bytes),
        (0x6FFFFEF5, gnu_hash), (4, hashes), (0, 0),
    )  # fmt: skip
    return b"".join(struct.pack("<QQ", *row) for row in rows)


def _gnu_table(name: bytes) -> bytes:
    """One bucket and one word to look up names by, as lld makes them for two."""
    hashes = [_gnu_hash(name), _gnu_hash(name + b".kd")]
    word = 0
    for each in hashes:
        word |= 1 << each % 64 | 1 << (each >> 26) % 64
    chain = hashes[0] & ~1, hashes[1] | 1
    return struct.pack("<IIIIQIII", 1, 1, 1, 26, word, 1, *chain)


def _table(name: bytes) -> bytes:
    """The older table of names: a bucket for each symbol and for none."""
    buckets, chains = [0, 0, 0], [0, 0, 0]
    for number, each in enumerate((name, name + b".kd"), start=1):
        bucket = _hash(each) % 3
        chains[number], buckets[bucket] = buckets[bucket], number
    return struct.pack("<8I", 3, 3, *buckets, *chains)


def _gnu_hash(name: bytes) -> int:
    found = 5381
    for each in name:
        found = found * 33 + each & 0xFFFFFFFF
    return found


def _hash(name: bytes) -> int:
    found = 0
    for each in name:
        found = (found << 4) + each
        high = found & 0xF0000000
        found = (found ^ high >> 24) & ~high
    return found


def _file(kernel: KernelObject, placed: list[_Section]) -> bytes:
    last = placed[-1]
    sections_at = _up(last.offset + last.bytes, 8)
    sizes = HEADER.size, _SEGMENT.size, _SEGMENTS, SECTION.size
    found = bytearray(sections_at)
    HEADER.pack_into(
        found, 0, kernel.identity, 3, MACHINE, 1, 0, HEADER.size, sections_at,
        kernel.flags, *sizes, len(placed), len(placed) - 2,
    )  # fmt: skip
    for number, row in enumerate(_segments(placed)):
        _SEGMENT.pack_into(found, HEADER.size + number * _SEGMENT.size, *row)
    for each in placed:
        found[each.offset : each.offset + len(each.data)] = each.data
    title = 0
    for number, each in enumerate(placed):
        found += SECTION.pack(
            title if number else 0, each.kind, each.flags, each.address, each.offset,
            each.bytes, each.link, each.info, each.align if number else 0, each.entry,
        )  # fmt: skip
        title += len(each.name) + 1
    return bytes(found)


def _segments(placed: list[_Section]) -> list[tuple[int, ...]]:
    note, descriptor, code, table = [placed[n] for n in (1, 6, 7, 8)]
    end = placed[_TABLE_AT + 1].end

    def row(
        kind: int, flags: int, at: _Section, size: int, align: int
    ) -> tuple[int, ...]:
        place = at.offset, at.address, at.address
        return kind, flags, *place, at.bytes, size, align

    heads = _SEGMENTS * _SEGMENT.size
    return [
        (6, 4, *[HEADER.size] * 3, heads, heads, 8),
        (1, 4, 0, 0, 0, descriptor.end, descriptor.end, PAGE),
        row(1, 5, code, code.bytes, PAGE),
        row(1, 6, table, end - table.address, PAGE),
        row(2, 6, table, table.bytes, 8),
        row(0x6474E552, 4, table, end - table.address, 1),
        (0x6474E551, 6, 0, 0, 0, 0, 0, 0),
        row(4, 4, note, note.bytes, 4),
    ]


def _up(number: int, align: int) -> int:
    return -(-number // align) * align
