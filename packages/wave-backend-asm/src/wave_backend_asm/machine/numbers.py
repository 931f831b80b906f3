"""Numbers that two registers hold are moved there at once.

Source: CDNA3 ISA, V_MOV_B64: a number in the code is extended by its sign, so that both
words are the same for 0 and -1 alone. It writes VGPRs that begin at an even number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wave_backend_asm.code import Part
from wave_backend_asm.machine.operands import signed

if TYPE_CHECKING:
    from wave_backend_asm.machine.instruction import Instruction
    from wave_backend_asm.machine.operands import Places


def in_pairs(code: Sequence[Instruction], places: Places) -> list[Instruction]:
    """Instructions, with one for two that follow each other."""
    found: list[Instruction] = []
    for each in code:
        both = _both(found[-1], each, places) if found else None
        if both is None:
            found.append(each)
        else:
            found[-1] = both
    return found


def _both(one: Instruction, two: Instruction, places: Places) -> Instruction | None:
    """What moves a number to the registers of two; ``None`` where nothing does."""
    if one.name != "v_mov_b32" or two.name != "v_mov_b32":
        return None
    (number,), (to,), (beside,) = one.operands, one.defines, two.defines
    if not isinstance(number, int) or signed(number) not in (0, -1):
        return None
    file, first = places[to.value]
    wanted = Part(to.value, to.first + 1, 1)
    if (two.operands, beside) != ((number,), wanted) or one.keeps or two.keeps:
        return None
    if file != "v" or (first + to.first) % 2:
        return None
    return replace(one, name="v_mov_b64", results=(Part(to.value, to.first, 2),))
