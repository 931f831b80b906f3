"""Registers that code spills, and what the compiler can do about it.

A wave that has no register left for a value writes it to memory and reads it back. How
many it needs depends on the order of instructions, of which the compiler knows several:
where its usual one spills, others are tried.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from wave_core.analysis.capacity import tell_spills, too_many_spilled
from wave_core.diagnostics import UserError
from wave_core.types import MemoryType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wave_backend_amdgpu.compile.request import Answer
    from wave_core.ir import Graph
    from wave_core.targets import Target

ORDERS = ("", "iterative-minreg", "max-ilp")
"""Orders of instructions: the usual one, one that takes as few registers as it can, and
one that keeps what waits for each other apart. Source: LLVM, values of the attribute
``amdgpu-sched-strategy``."""

RESOURCE = 4
"""Scalars that describe a memory. Source: AMD CDNA3 ISA, buffer resource."""

_ELF = b"\x7fELF"

_NOTES = 7
"""SHT_NOTE. Source: the ELF specification, section types."""

_METADATA = 32
"""NT_AMDGPU_METADATA. Source: LLVM AMDGPU usage, note records."""


class _Kernel(msgspec.Struct, rename=lambda name: f".{name}"):
    """What the metadata says of one kernel."""

    vgpr_count: int = 0
    vgpr_spill_count: int = 0
    sgpr_spill_count: int = 0


class _Metadata(msgspec.Struct):
    kernels: list[_Kernel] = msgspec.field(
        name="amdhsa.kernels", default_factory=list[_Kernel]
    )


def with_fewest_spills(
    texts: Iterable[str], compiled: Callable[[str], Answer]
) -> tuple[str, Answer]:
    """The first text whose code spills nothing, or the one whose code spills least.

    Args:
        texts: MLIR in different orders of instructions, the usual one first.
        compiled: The compiler; what it refuses of the others is left out.

    Raises:
        UserError: as ``compiled``, of the first text.
    """
    waiting = iter(texts)
    best = _Compiled.by(compiled, next(waiting))
    while best.spills and (text := next(waiting, None)) is not None:
        with suppress(UserError):
            best = min(best, _Compiled.by(compiled, text), key=attrgetter("spills"))
    return best.text, best.answer


@dataclass(frozen=True)
class _Compiled:
    """What became of a text."""

    text: str
    answer: Answer
    spills: int

    @classmethod
    def by(cls, compiled: Callable[[str], Answer], text: str) -> _Compiled:
        answer = compiled(text)
        return cls(text, answer, spilled_registers(answer.output))


def spilled_registers(output: bytes) -> int:
    """Registers that the kernels of a code object spill, or of a module with one."""
    rows = _kernels(output)
    return sum(row.vgpr_spill_count + row.sgpr_spill_count for row in rows)


def check_spills(output: bytes, graph: Graph, target: Target) -> None:
    """Refuse code that spills where another schedule takes fewer registers.

    What spills whatever its schedule runs as it is, and the user is told.

    Raises:
        UserError: WV0605, with what is ``spilled``.
    """
    rows = _kernels(output)
    vectors = sum(row.vgpr_spill_count for row in rows)
    scalars = sum(row.sgpr_spill_count for row in rows)
    if not vectors + scalars:
        return
    limit = max(row.vgpr_count for row in rows)
    too_many = graph.gives_way and vectors + scalars > graph.spills_allowed
    if too_many and (vectors or not _too_many_memories(graph, target)):
        raise too_many_spilled(graph, target, limit, vectors + scalars)
    told = {f"{vectors} of a lane, with {limit} in use": vectors}
    told |= {f"{scalars} of a wave, for memories and conditions": scalars}
    tell_spills(graph, target, "; ".join(text for text, count in told.items() if count))


def _too_many_memories(graph: Graph, target: Target) -> bool:
    """Whether where memories begin takes more scalars than a wave has.

    These are spilled to lanes of vector registers then, whatever the schedule.
    """
    memories = (p for p in graph.parameters if isinstance(p.type, MemoryType))
    file = target.registers
    return file is not None and 0 < file.scalars < RESOURCE * sum(1 for _ in memories)


def _kernels(output: bytes) -> list[_Kernel]:
    """What the metadata of the code object says, of each of its kernels."""
    start = output.find(_ELF)
    if start < 0:
        return []
    decode = msgspec.msgpack.Decoder(_Metadata).decode
    return [row for note in _notes(output[start:]) for row in decode(note).kernels]


def _notes(elf: bytes) -> Iterator[bytes]:
    """The metadata among the notes of a file of 64 bits, lowest byte first."""
    (table,) = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    for place in range(table, table + size * count, size):
        (kind,) = struct.unpack_from("<I", elf, place + 4)
        begin, length = struct.unpack_from("<QQ", elf, place + 24)
        if kind == _NOTES:
            yield from _metadata(elf[begin : begin + length])


def _metadata(section: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(section):
        named, length, kind = struct.unpack_from("<III", section, place)
        begin = place + 12 + _padded(named)
        if kind == _METADATA:
            yield section[begin : begin + length]
        place = begin + _padded(length)


def _padded(length: int) -> int:
    """Notes take whole words of 32 bits."""
    return -(-length // 4) * 4
