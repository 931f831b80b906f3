"""What a code object says of its kernels: symbols, and metadata for the launch.

Layout: System V ABI, "Object Files"; LLVM, User Guide for AMDGPU Backend, "Code Object
Metadata".
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SECTIONS_AT, _SECTION_COUNT_AT = 0x28, 0x3C
_HEADER = struct.Struct("<IIQQQQIIQQ")
"""A section: name, kind, flags, address, place, bytes, link, info, alignment, row."""

_SYMBOL = struct.Struct("<IBBHQQ")
"""A symbol: name, info, other, section, value, size."""

_SYMBOLS, _NOTES = 2, 7
_METADATA = 32
"""NT_AMDGPU_METADATA."""


class Argument(msgspec.Struct, frozen=True, rename=lambda name: f".{name}"):
    """An argument: where it lies, its bytes, and ``by_value`` or a kind of pointer."""

    offset: int
    size: int
    value_kind: str


class Row(msgspec.Struct, frozen=True, rename=lambda name: f".{name}"):
    """A kernel in the metadata; what a launch does not use is left out."""

    name: str
    symbol: str
    args: tuple[Argument, ...] = ()
    kernarg_segment_size: int = 0
    group_segment_fixed_size: int = 0
    private_segment_fixed_size: int = 0
    max_flat_workgroup_size: int = 1024
    wavefront_size: int = 64


class _Metadata(msgspec.Struct):
    kernels: tuple[Row, ...] = msgspec.field(name="amdhsa.kernels", default=())


def kernels_of(data: bytes) -> dict[str, Row]:
    """The kernels that a linked code object describes and has, by name.

    Raises:
        ValueError: its metadata has another form.
    """
    try:
        sections = list(_sections(data))
        symbols = {
            name for each in sections for name, *_ in _symbols(data, each, sections)
        }
        contents = [content for each in sections for content in _notes(data, each)]
        found = [msgspec.msgpack.decode(each, type=_Metadata) for each in contents]
    except (msgspec.MsgspecError, struct.error, IndexError) as error:
        raise ValueError(str(error)) from error
    rows = [row for each in found for row in each.kernels]
    return {row.name: row for row in rows if row.symbol in symbols}


class Descriptor(NamedTuple):
    """What a kernel asks the machine for.

    Layout: LLVM, User Guide for AMDGPU Backend, "Code Object V3 Kernel Descriptor".

    Attributes:
        lds_bytes: LDS of a workgroup.
        scratch_bytes: scratch of a lane.
        argument_bytes: of all arguments.
        lanes: lanes of a wave.
        registers: how many a wave gets, by the letter of their file.
    """

    lds_bytes: int
    scratch_bytes: int
    argument_bytes: int
    lanes: int
    registers: Mapping[str, int]


def descriptor_of(data: bytes, symbol: str) -> Descriptor:
    """The descriptor of a kernel of a linked code object that `kernels_of` gave."""
    at = _place(data, symbol)
    lds, scratch, arguments = struct.unpack_from("<III", data, at)
    third, first = struct.unpack_from("<II", data, at + 44)
    (properties,) = struct.unpack_from("<H", data, at + 56)
    vectors = 8 * ((first & 0x3F) + 1)
    begin = min(4 * ((third & 0x3F) + 1), vectors)
    registers = {
        "v": begin,
        "a": vectors - begin,
        "s": 16 * ((first >> 6 & 0xF) // 2 + 1),
    }
    lanes = 32 if properties >> 10 & 1 else 64
    return Descriptor(lds, scratch, arguments, lanes, registers)


def _place(data: bytes, symbol: str) -> int:
    """Where in the file a symbol lies."""
    sections = list(_sections(data))
    for each in sections:
        for name, home, value in _symbols(data, each, sections):
            if name == symbol:
                _, _, _, address, place, *_ = sections[home]
                return place + value - address
    raise AssertionError("it has the symbol")


def _sections(data: bytes) -> Iterator[tuple[int, ...]]:
    (start,) = struct.unpack_from("<Q", data, _SECTIONS_AT)
    (count,) = struct.unpack_from("<H", data, _SECTION_COUNT_AT)
    for number in range(count):
        yield _HEADER.unpack_from(data, start + number * _HEADER.size)


def _symbols(
    data: bytes, section: tuple[int, ...], sections: list[tuple[int, ...]]
) -> Iterator[tuple[str, int, int]]:
    """Names of what is defined, each with its section and its address."""
    _, kind, _, _, place, size, link, *_ = section
    if kind != _SYMBOLS:
        return
    names = sections[link][4]
    for at in range(place, place + size, _SYMBOL.size):
        name, _, _, home, value, _ = _SYMBOL.unpack_from(data, at)
        if home:
            end = data.index(b"\0", names + name)
            yield data[names + name : end].decode(errors="replace"), home, value


def _notes(data: bytes, section: tuple[int, ...]) -> Iterator[bytes]:
    """Contents of notes that are metadata."""
    _, kind, _, _, at, size, *_ = section
    end = at + size if kind == _NOTES else at
    while at < end:
        name_bytes, content_bytes, note = struct.unpack_from("<III", data, at)
        content = at + 12 + -(-name_bytes // 4) * 4
        if note == _METADATA:
            yield data[content : content + content_bytes]
        at = content + -(-content_bytes // 4) * 4
