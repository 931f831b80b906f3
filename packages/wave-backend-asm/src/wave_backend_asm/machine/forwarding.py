"""Values that are computed where they are wanted: copies into tuples that need not be.

Registers that are written once, and copied once each into registers of a wider tuple
that lie as these do and that nothing else writes, are those of the tuple from the
start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wave_backend_asm.code import Part, Register, Value, registers_of
from wave_backend_asm.machine.instruction import Copy, Instruction, Label

if TYPE_CHECKING:
    from wave_backend_asm.machine.operands import Operand
    from wave_backend_asm.machine.program import Line


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
    return [line for line in found if not is_idle(line)]


def _homes(lines: Sequence[Line], fixed: Collection[Value]) -> dict[Value, Part]:
    """The registers of a tuple that each value can be from the start."""
    copies = [
        (line.operand, line.result)
        for line in lines
        if isinstance(line, Copy) and _may_be_home(line)
        if line.operand.value not in fixed
    ]
    writes = writes_of(lines, {each.value for row in copies for each in row})
    firsts: dict[Value, dict[int, Part]] = {}
    for own, to in copies:
        if writes[own.value, own.first] == 1 and writes[to.value, to.first] == 1:
            firsts.setdefault(own.value, {}).setdefault(own.first, to)
    return {
        value: home
        for value, rows in firsts.items()
        if (home := _all_of(value, rows)) is not None
    }


def _all_of(value: Value, rows: dict[int, Part]) -> Part | None:
    """Where the registers of a value are copied to, if they lie there as they do here.

    Args:
        value: it is copied.
        rows: the first place of each of its registers that has one.
    """
    if 0 not in rows:
        return None
    to, first, _ = rows[0]
    wanted = {at: Part(to, first + at, 1) for at in range(value.width)}
    if rows != wanted or first % value.align:
        return None
    return Part(to, first, value.width)


def _may_be_home(line: Copy) -> bool:
    """It copies a register into a wider tuple."""
    value, to = line.operand.value, line.result
    return (
        to.width == 1
        and to.value.width > value.width
        and to.value.align >= value.align
        and value.files == to.value.files
    )


def writes_of(lines: Sequence[Line], values: Collection[Value]) -> Counter[Register]:
    """How often each register of some values is written."""
    return Counter(
        register
        for line in lines
        if not isinstance(line, Label)
        for register in registers_of(p for p in line.defines if p.value in values)
    )


def renamed(line: Line, homes: dict[Value, Part]) -> Line:
    """A line whose values are parts of others, or others."""
    if isinstance(line, Label):
        return line
    if isinstance(line, Copy):
        result, operand = (_home(p, homes) for p in (line.result, line.operand))
        return replace(line, result=result, operand=operand)
    return _renamed_instruction(line, homes)


def _renamed_instruction(line: Instruction, homes: dict[Value, Part]) -> Instruction:
    values = [part.value for part in (*line.defines, *line.uses)]
    if homes.keys().isdisjoint(values):
        return line
    return replace(
        line,
        results=tuple(_home_of(each, homes) for each in line.results),
        operands=tuple(_home_of(each, homes) for each in line.operands),
        keeps=tuple(_home(each, homes) for each in line.keeps),
    )


def _home(part: Part, homes: dict[Value, Part]) -> Part:
    """Where registers are in the end: a tuple may itself be some of a wider one."""
    while (home := homes.get(part.value)) is not None:
        part = Part(home.value, home.first + part.first, part.width)
    return part


def _home_of(operand: Operand, homes: dict[Value, Part]) -> Operand:
    return _home(operand, homes) if isinstance(operand, Part) else operand


def is_idle(line: Line) -> bool:
    """It copies registers to themselves."""
    return isinstance(line, Copy) and line.result == line.operand
