"""Neighbouring words that the wave loads are loaded by one instruction.

Nobody writes them meanwhile, and a load of what is out of bounds gives zeros: they may
come as early as the first of them does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeGuard

from wave_backend_asm.code import Part, Register
from wave_backend_asm.machine.forwarding import renamed, writes_of
from wave_backend_asm.machine.instruction import Instruction, Label
from wave_backend_asm.machine.operands import SCALARS, Operand, Virtual

if TYPE_CHECKING:
    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.program import Line

_NAME = "s_buffer_load_dword"

_MOST = 16
"""The words that one loads. Source: CDNA3 ISA, S_BUFFER_LOAD_DWORDX16."""

NUMBERS = 1 << 20
"""What an offset in the instruction is less than. Source: CDNA3 ISA, SMEM."""

_OFFSET = "offset:"

_Said: TypeAlias = tuple[str, tuple[Part], tuple[Operand, ...], str]


def scalar_load(words: Part, memory: Part, base: Part | None, number: int) -> _Said:
    """Name, results, operands and modifiers of a load for the wave.

    Args:
        words: where they go; 1, 2, 4, 8 or 16.
        memory: the descriptor.
        base: bytes in a register, if there is one.
        number: bytes in the instruction, fewer than `NUMBERS`.
    """
    name = f"{_NAME}x{words.width}" if words.width > 1 else _NAME
    if base is None:
        return name, (words,), (memory, number), ""
    return name, (words,), (memory, base), f"{_OFFSET}{number}" if number else ""


def widths(count: int) -> Iterator[tuple[int, int]]:
    """The first and the number of the words of each load, for so many of them."""
    start = 0
    while start < count:
        width = 1 << min(count - start, _MOST).bit_length() - 1
        yield start, width
        start += width


def neighbours_together(lines: Sequence[Line]) -> list[Line]:
    """The program with one load for several whose words lie side by side."""
    homes: dict[Value, Part] = {}
    changed: dict[int, Line | None] = {}
    for group in (group for row in _rows(lines) for group in _groups(row)):
        words = Virtual(sum(each.width for each in group), SCALARS)
        first = 0
        for each in group:
            homes[each.line.defines[0].value] = Part(words, first, each.width)
            first += each.width
            changed[each.at] = None
        early = min(group, key=lambda each: each.at)
        said = scalar_load(words.all, *_place(early.line), group[0].number)
        changed[early.at] = Instruction(*said, at=early.line.at)
    if not homes:
        return [*lines]
    kept = [changed.get(at, line) for at, line in enumerate(lines)]
    return [renamed(line, homes) for line in kept if line is not None]


class _Load(NamedTuple):
    """A load, its place among all lines, and the first of its bytes."""

    line: Instruction
    at: int
    number: int

    @property
    def width(self) -> int:
        return self.line.defines[0].width

    @property
    def align(self) -> int:
        return self.line.defines[0].value.align


def _rows(lines: Sequence[Line]) -> list[list[_Load]]:
    """Loads, none twice, that differ by a number alone, without a jump between."""
    loads = [each for each in lines if _is_load(each)]
    if len(loads) < _FEW:
        return []
    values = {part.value for each in loads for part in (*each.defines, *each.uses)}
    writes = writes_of(lines, values)
    stretch = 0
    rows: dict[tuple[int, Part, Part | None], dict[int, _Load]] = {}
    for at, line in enumerate(lines):
        if isinstance(line, Label) or (isinstance(line, Instruction) and line.target):
            stretch += 1
        elif _is_load(line) and _is_steady(line, writes):
            row = rows.setdefault((stretch, *_place(line)), {})
            number = _number(line)
            row.setdefault(number, _Load(line, at, number))
    return [[row[number] for number in sorted(row)] for row in rows.values()]


_FEW = 2
"""Loads that may become one."""


def _groups(row: Sequence[_Load]) -> Iterator[Sequence[_Load]]:
    """Those that become one load: as many side by side as one takes."""
    start = 0
    while start < len(row):
        end = max(_ends(row, start), default=start + 1)
        if end - start > 1:
            yield row[start:end]
        start = end


def _ends(row: Sequence[_Load], start: int) -> Iterator[int]:
    """Where a load of several may end that begins with one of a row."""
    words = 0
    for at in range(start, len(row)):
        each = row[at]
        if each.number != row[start].number + 4 * words or words % each.align:
            return
        words += each.width
        if words > _MOST:
            return
        if words.bit_count() == 1:
            yield at + 1


def _is_load(line: Line) -> TypeGuard[Instruction]:
    return isinstance(line, Instruction) and line.name.startswith(_NAME)


def _is_steady(line: Instruction, writes: Mapping[Register, int]) -> bool:
    """Whether all of its registers are written once, or before the program begins."""
    return all(
        writes[part.value, part.first + number] <= 1
        for part in (*line.defines, *line.uses)
        for number in range(part.width)
    )


def _place(line: Instruction) -> tuple[Part, Part | None]:
    """The descriptor, and the register of the offset if there is one."""
    memory, *others = line.uses
    return memory, others[0] if others else None


def _number(line: Instruction) -> int:
    """The offset in the instruction."""
    number = line.operands[1]
    if isinstance(number, int):
        return number
    return int(line.modifiers.removeprefix(_OFFSET) or 0)
