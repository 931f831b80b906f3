"""Values that may live in AGPRs: those that only products and memory touch.

Products take every operand from AGPRs as well, loads fill them and stores empty them;
instructions of lanes read and write VGPRs alone. Source: CDNA3 ISA, "Accumulation
VGPRs".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.forwarding import renamed
from wave_backend_asm.machine.instruction import Copy, Instruction, Label
from wave_backend_asm.machine.operands import (
    ACCUMULATORS,
    VECTORS,
    Operand,
    Virtual,
    is_inline,
)

if TYPE_CHECKING:
    from wave_backend_asm.code import Part, Value
    from wave_backend_asm.machine.program import Line

_MOVED = re.compile(r"(buffer_(load|store)_dword(x\d)?|ds_(read|write)_b(32|64|128))")
"""Accesses whose data may be in AGPRs."""


def with_accumulators(lines: Sequence[Line], fixed: Collection[Value]) -> list[Line]:
    """The program, whose values may live in AGPRs wherever that is possible.

    Args:
        lines: the program.
        fixed: values whose registers are given.
    """
    found = [line for line in lines if not isinstance(line, Label)]
    kept = {part.value for line in found for part in _of_lanes(line)} | {*fixed}
    values = {p.value: None for line in found for p in (*line.defines, *line.uses)}
    homes = {
        value: Virtual(value.width, ACCUMULATORS, str(value)).all
        for value in values
        if value not in kept and value.files == VECTORS
    }
    return [renamed(line, homes) for line in lines]


def _of_lanes(line: Instruction | Copy) -> Iterator[Part]:
    """The registers that have to be VGPRs, or are none."""
    if isinstance(line, Copy):
        return
    free = [*map(id, _free(line))]
    for operand in (*line.results, *line.operands):
        if not isinstance(operand, int | str) and id(operand) not in free:
            yield operand


def _free(line: Instruction) -> tuple[Operand, ...]:
    """The operands that may be in either file."""
    if form_of(line.name).unit == "mfma":
        return (*line.results, *line.operands)
    if is_constant_move(line):
        return line.results
    if not _MOVED.fullmatch(line.name):
        return ()
    stored = form_of(line.name).stored
    return line.results if stored is None else (line.operands[stored],)


def is_constant_move(line: Instruction) -> bool:
    """A move of a number that an instruction of AGPRs takes, too."""
    return line.name == "v_mov_b32" and is_inline(line.operands[0])
