"""Accesses by an address, where a descriptor would say no more.

A buffer whose accesses are all inside, none of them masked, needs no descriptor: lanes
add their offsets to its address, which is the first half of one. Source: CDNA3 ISA,
"Global memory instructions", SADDR.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wave_backend_asm.code import Part
from wave_backend_asm.machine.instruction import Copy, Instruction, Label

if TYPE_CHECKING:
    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.program import Line

_PLAIN = re.compile(r"buffer_(load|store)_(dword(x[234])?|[us]?short|[us]?byte)")

_WORDS = 4
"""Registers of a descriptor."""


def by_addresses(lines: Sequence[Line], inside: Collection[Value]) -> list[Line]:
    """The program without the descriptors that it does not need.

    Args:
        lines: the program.
        inside: descriptors of buffers beyond which no access is.
    """
    plain = _plain(lines, inside)
    if not plain:
        return [*lines]
    bases = {value: Part(value, 0, 2) for value in plain}
    for line in lines:
        if isinstance(line, Copy) and line.result in bases.values():
            bases[line.result.value] = line.operand
    found = [_accessing(line, bases) for line in lines]
    return [line for line in found if not _completes(line, bases)]


def _plain(lines: Sequence[Line], inside: Collection[Value]) -> set[Value]:
    """The descriptors that nothing reads but what an address is enough for."""
    found = {*inside}
    for line in lines:
        if isinstance(line, Label) or not found:
            continue
        read = {part.value for part in line.uses} & found
        if read and _descriptor(line) is None:
            found -= read
    return found


def _descriptor(line: Line) -> Part | None:
    """The descriptor of an access that adds nothing of the wave's to its address."""
    if not isinstance(line, Instruction) or not _PLAIN.fullmatch(line.name):
        return None
    *_, descriptor, wave = line.operands
    if not isinstance(descriptor, Part) or descriptor.width != _WORDS or wave != 0:
        return None
    return descriptor if _takes_lanes(line) else None


def _takes_lanes(line: Instruction) -> bool:
    """Whether its offset is that of lanes, and LDS has no part in it."""
    words = line.modifiers.split()
    return words[:1] == ["offen"] and "lds" not in words


def _accessing(line: Line, bases: dict[Value, Part]) -> Line:
    """The same by an address."""
    descriptor = _descriptor(line)
    if descriptor is None or descriptor.value not in bases:
        return line
    assert isinstance(line, Instruction), "an access"
    *data, lane, _, _ = line.operands
    return replace(
        line,
        name=line.name.replace("buffer", "global"),
        operands=(lane, *data, bases[descriptor.value]),
        modifiers=line.modifiers.removeprefix("offen").strip(),
    )


def _completes(line: Line, bases: dict[Value, Part]) -> bool:
    """Whether a line gives a descriptor what nobody reads of it any more."""
    if isinstance(line, Label) or not line.defines:
        return False
    (part, *_) = line.defines
    if part.value not in bases:
        return False
    return bases[part.value].value is not part.value or part.first >= 2
