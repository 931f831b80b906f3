"""Operands taken with the other sign, where that sign was an instruction's work.

An instruction of floats takes the sign of an operand the other way at no cost. Source:
CDNA3 ISA, VOP3, "NEG". Beside a number in a word of its own, which that form has no
room for, the number changes its sign, or a sum becomes a difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from wave_backend_asm.code import Part
from wave_backend_asm.machine.instruction import Instruction, Label
from wave_backend_asm.machine.operands import is_literal, is_scalar

if TYPE_CHECKING:
    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.program import Line

_SIGN = 0x80000000

_TAKES = re.compile(r"v_(fma|mul|add|sub|max|min)_f32|v_cmp_\w+_f32_e64")
"""Who takes an operand with the other sign."""

_OTHERS = {"v_add_f32": "v_sub_f32", "v_sub_f32": "v_add_f32"}


def taken(lines: Sequence[Line]) -> list[Line]:
    """The program without changes of sign that all who read them can do."""
    changes = [line for line in lines if _changes(line)]
    if not changes:
        return [*lines]
    writes: Counter[Value] = Counter()
    for line in lines:
        if not isinstance(line, Label):
            for part in line.defines:
                writes[part.value] += part.width
    wholes = {
        line.defines[0].value: line.uses[0]
        for line in changes
        if _lasts(line.defines[0], writes) and _lasts(line.uses[0], writes)
    }
    found = [
        _taking(line, wholes) if isinstance(line, Instruction) else line
        for line in lines
    ]
    reads = Counter(value for line in found for value in _read(line))
    return [
        line for line in found
        if not (_changes(line) and not reads[line.defines[0].value])
    ]  # fmt: skip


def _read(line: Line) -> list[Value]:
    return [] if isinstance(line, Label) else [part.value for part in line.uses]


def _changes(line: Line) -> TypeGuard[Instruction]:
    """It changes the sign of a float of a lane."""
    if not isinstance(line, Instruction) or line.name != "v_xor_b32":
        return False
    sign, operand = line.operands
    return sign == _SIGN and isinstance(operand, Part) and not is_scalar(operand)


def _lasts(part: Part, writes: Mapping[Value, int]) -> bool:
    """Each register is written once: wherever it is read, it is what it was."""
    return writes[part.value] == part.value.width


def _taking(line: Instruction, wholes: Mapping[Value, Part]) -> Instruction:
    """An instruction that reads numbers whose sign is not changed, if it can."""
    if not _TAKES.fullmatch(line.name):
        return line
    for at, each in enumerate(line.operands):
        if isinstance(each, Part) and each.value in wholes:
            line = _changed(line, at, wholes[each.value])
    return line


def _changed(line: Instruction, at: int, whole: Part) -> Instruction:
    """The same with another operand that it takes with the other sign."""
    first = line.operands[0]
    operands = (*line.operands[:at], whole, *line.operands[at + 1 :])
    if not is_literal(first):
        negates = tuple(sorted({*line.negates} ^ {at}))
        return replace(line, operands=operands, negates=negates)
    assert isinstance(first, int), "a literal is"
    if line.name in _OTHERS:
        return replace(line, name=_OTHERS[line.name], operands=operands)
    if line.name == "v_mul_f32":
        return replace(line, operands=(first ^ _SIGN, whole))
    return line
