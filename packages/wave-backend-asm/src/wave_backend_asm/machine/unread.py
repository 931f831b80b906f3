"""Instructions are left out whose results nobody reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from wave_backend_asm.code import Part
from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Instruction, Label
from wave_backend_asm.machine.together import answers, asks

if TYPE_CHECKING:
    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.program import Line


def without_unread(lines: Sequence[Line]) -> list[Line]:
    """The program without what computes or loads a value for nobody."""
    reads = Counter([value for line in lines for value in _read(line)])
    kept, again = [*reversed(lines)], True
    while again:
        found: list[Line] = []
        made: set[Value] = set()  # by what stands further down, and stays
        again, asked = False, True  # behind the last line, as behind a label, is all
        for line in kept:
            if _idle(line, reads, asked=asked):
                for value in _read(line):
                    reads[value] -= 1
                    again |= not reads[value] and value in made
                continue
            found.append(line)
            if not isinstance(line, Label):
                made.update([part.value for part in line.defines])
            asked = _asked(line, behind=asked)
        kept = found
    return [*reversed(kept)]


def _read(line: Line) -> list[Value]:
    return [] if isinstance(line, Label) else [part.value for part in line.uses]


def _asked(line: Line, *, behind: bool) -> bool:
    """Whether somebody reads the condition that the wave has in front of a line."""
    if isinstance(line, Label):
        return True
    if not isinstance(line, Instruction):
        return behind
    return bool(line.target) or asks(line) or (behind and not answers(line))


def _idle(line: Line, reads: Counter[Value], *, asked: bool) -> bool:
    if isinstance(line, Label):
        return False
    for part in line.defines:
        if reads[part.value]:
            return False
    if not isinstance(line, Instruction):
        return True
    if not all(isinstance(each, Part) for each in line.results):
        return False
    if form_of(line.name).unit == "salu":
        return _computes_for_the_wave(line) and not (asked and answers(line))
    return bool(line.defines) and _only_computes(line.name, line.modifiers)


def _computes_for_the_wave(line: Instruction) -> bool:
    """Whether the result and the condition are all that an instruction gives."""
    gives = bool(line.defines) or line.name.startswith("s_cmp_")
    return gives and not form_of(line.name).writes


@cache
def _only_computes(name: str, modifiers: str) -> bool:
    """Whether all that an instruction does is to give a result."""
    form = form_of(name)
    if form.unit in ("valu", "mfma"):
        return not form.writes
    plain = name.startswith(("ds_read", "buffer_load", "global_load", "s_buffer_load"))
    return plain and not modifiers.endswith(" lds") and "sc1" not in modifiers
