"""Values that may live in AGPRs: those that only products and memory touch.

Products take every operand from AGPRs as well, loads fill them and stores empty them;
instructions of lanes read and write VGPRs alone. Source: CDNA3 ISA, "Accumulation
VGPRs".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING

from wave_backend_asm.code import Part
from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Instruction, Label
from wave_backend_asm.machine.operands import VECTORS, is_inline, is_scalar

if TYPE_CHECKING:
    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.program import Line

_MOVED = re.compile(
    r"(buffer|global)_(load|store)_dword(x\d)?"
    r"|ds_(read|write)_b(32|64|128)|ds_read_b64_tr_b(8|16)"
)
"""Accesses whose data may be in AGPRs."""


def accumulators(lines: Sequence[Line], fixed: Collection[Value]) -> set[Value]:
    """Values that may live in AGPRs as well.

    Args:
        lines: the program.
        fixed: values whose registers are given.
    """
    found: set[Value] = set()
    kept: set[Value] = {*fixed}
    for line in lines:
        if not isinstance(line, Label):
            found.update([part.value for part in (*line.defines, *line.uses)])
        if isinstance(line, Instruction):
            kept.update(_of_lanes(line))
    return {value for value in found - kept if value.files == VECTORS}


def _of_lanes(line: Instruction) -> list[Value]:
    """The values that have to be in VGPRs, or are none of lanes."""
    sort, free = _sort_of(line.name), -1
    if sort is _Data.ANY:  # but for scales, behind the sums
        scales = line.operands[3:]
        return [part.value for part in scales if isinstance(part, Part)]
    if is_move(line):
        return []
    if sort is _Data.LOADED:
        free = 0
    elif sort is _Data.STORED:
        free = len(line.results) + (form_of(line.name).stored or 0)
    return [
        operand.value
        for number, operand in enumerate((*line.results, *line.operands))
        if number != free and isinstance(operand, Part)
    ]


class _Data(Enum):
    """Which operands of an instruction may be in either file."""

    ANY = auto()
    LOADED = auto()
    STORED = auto()
    NONE = auto()


@cache
def _sort_of(name: str) -> _Data:
    form = form_of(name)
    if form.unit == "mfma":
        return _Data.ANY
    if not _MOVED.fullmatch(name):
        return _Data.NONE
    return _Data.LOADED if form.stored is None else _Data.STORED


def is_move(line: Instruction) -> bool:
    """A move of lanes, or of a number, that an instruction of AGPRs takes, too."""
    if line.name != "v_mov_b32":
        return False
    (source,) = line.operands
    return is_inline(source) or (isinstance(source, Part) and not is_scalar(source))
