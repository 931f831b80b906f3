"""Values that are computed where they are wanted: copies into tuples that need not be.

A register that is written once, and copied once into a register of a tuple that nothing
else writes, is that register of the tuple from the start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wave_backend_asm.code import Part, Value
from wave_backend_asm.machine.instruction import Copy, Instruction, Label

if TYPE_CHECKING:
    from wave_backend_asm.machine.operands import Operand
    from wave_backend_asm.machine.program import Line

_Register = tuple[Value, int]


def forwarded(lines: Sequence[Line], fixed: Collection[Value]) -> list[Line]:
    """The program without the copies that need not be.

    Args:
        lines: the program.
        fixed: values whose registers are given, which stay.
    """
    homes = _homes(lines, fixed)
    if not homes:
        return [*lines]
    found = [renamed(line, homes) for line in lines]
    return [line for line in found if not _is_idle(line)]


def _homes(lines: Sequence[Line], fixed: Collection[Value]) -> dict[Value, Part]:
    """The register of a tuple that each value can be from the start."""
    writes: Counter[_Register] = Counter()
    for line in lines:
        for part in () if isinstance(line, Label) else line.defines:
            numbers = range(part.first, part.first + part.width)
            writes.update((part.value, number) for number in numbers)
    homes: dict[Value, Part] = {}
    for line in lines:
        if not isinstance(line, Copy) or line.result.width != 1:
            continue
        value, to = line.operand.value, line.result
        if value.width > 1 or to.value.width == 1 or value in fixed or value in homes:
            continue
        once = writes[value, 0] == 1 and writes[to.value, to.first] == 1
        if once and value.files == to.value.files:
            homes[value] = to
    return homes


def renamed(line: Line, homes: dict[Value, Part]) -> Line:
    """A line whose values are parts of others, or others."""
    if isinstance(line, Label):
        return line
    if isinstance(line, Copy):
        result, operand = (_home(p, homes) for p in (line.result, line.operand))
        return replace(line, result=result, operand=operand)
    return _renamed_instruction(line, homes)


def _renamed_instruction(line: Instruction, homes: dict[Value, Part]) -> Instruction:
    touched = (*line.defines, *line.uses)
    if not any(part.value in homes for part in touched):
        return line
    return replace(
        line,
        results=tuple(_home_of(each, homes) for each in line.results),
        operands=tuple(_home_of(each, homes) for each in line.operands),
        keeps=tuple(_home(each, homes) for each in line.keeps),
    )


def _home(part: Part, homes: dict[Value, Part]) -> Part:
    home = homes.get(part.value)
    if home is None:
        return part
    return Part(home.value, home.first + part.first, part.width)


def _home_of(operand: Operand, homes: dict[Value, Part]) -> Operand:
    return _home(operand, homes) if isinstance(operand, Part) else operand


def _is_idle(line: Line) -> bool:
    return isinstance(line, Copy) and line.result == line.operand
