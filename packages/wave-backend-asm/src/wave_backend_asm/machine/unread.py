"""Instructions are left out whose results nobody reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from wave_backend_asm.code import Part
from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Instruction, Label

if TYPE_CHECKING:
    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.program import Line


def without_unread(lines: Sequence[Line]) -> list[Line]:
    """The program without what computes or loads a value for nobody."""
    reads = Counter([value for line in lines for value in _read(line)])
    kept = [*reversed(lines)]
    while True:
        found: list[Line] = []
        for line in kept:
            if _idle(line, reads):
                reads.subtract(_read(line))
            else:
                found.append(line)
        if len(found) == len(kept):
            return [*reversed(found)]
        kept = found


def _read(line: Line) -> list[Value]:
    return [] if isinstance(line, Label) else [part.value for part in line.uses]


def _idle(line: Line, reads: Counter[Value]) -> bool:
    if isinstance(line, Label):
        return False
    defines = line.defines
    for part in defines:
        if reads[part.value]:
            return False
    if not isinstance(line, Instruction):
        return True
    registers = all(isinstance(each, Part) for each in line.results)
    return bool(defines) and registers and _only_computes(line.name, line.modifiers)


@cache
def _only_computes(name: str, modifiers: str) -> bool:
    """Whether all that an instruction does is to give a result.

    Instructions of the wave do more: they say something about it in its condition.
    """
    form = form_of(name)
    if form.unit in ("valu", "mfma"):
        return not form.writes
    plain = name.startswith(("ds_read", "buffer_load"))
    return plain and not modifiers.endswith(" lds") and "sc1" not in modifiers
