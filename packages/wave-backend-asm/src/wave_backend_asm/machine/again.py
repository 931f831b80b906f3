"""Words of addresses that are computed again are those that were computed first.

Expressions of places share sums and shifts only where each has the whole of them, so
that what is left of them is computed again for neighbours. Within a stretch of code,
with the same lanes on, an instruction that reads what another one has read gives what
that one gives.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from wave_backend_asm.code import Part
from wave_backend_asm.machine.forwarding import renamed
from wave_backend_asm.machine.instruction import Instruction, Label
from wave_backend_asm.machine.together import writes_lanes

if TYPE_CHECKING:
    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.program import Line

_WORDS = frozenset(
    (
        *("v_add_u32", "v_sub_u32", "v_subrev_u32", "v_and_b32", "v_or_b32"),
        *("v_xor_b32", "v_lshlrev_b32", "v_lshrrev_b32", "v_ashrrev_i32"),
        *("v_mul_u32_u24", "v_mul_lo_u32", "v_mul_hi_u32", "v_bfe_u32", "v_bfe_i32"),
        *("v_min_i32", "v_max_i32", "v_min_u32", "v_max_u32"),
    )
)
"""Instructions of lanes that addresses are made of."""


def without_again(lines: Sequence[Line]) -> list[Line]:
    """The program without instructions that give what others have given."""
    changed = _changed(lines)
    found: list[Line] = []
    homes: dict[Value, Part] = {}
    known: dict[Hashable, Part] = {}
    for line in lines:
        made = renamed(line, homes) if homes else line
        if isinstance(made, Label):
            known = {}
        elif isinstance(made, Instruction) and made.name in _WORDS:
            if _lasts(made, changed):
                key = made.name, made.operands, made.modifiers, made.negates
                first = known.setdefault(key, made.defines[0])
                if first is not made.defines[0]:
                    homes[made.defines[0].value] = first
                    continue
        elif isinstance(made, Instruction) and (made.target or writes_lanes(made)):
            known = {}
        found.append(made)
    return found


def _changed(lines: Sequence[Line]) -> set[Value]:
    """Values that more than one instruction writes."""
    found: set[Value] = set()
    others: set[Value] = set()
    for line in lines:
        if not isinstance(line, Label):
            for part in line.defines:
                (others if part.value in found else found).add(part.value)
    return others


def _lasts(line: Instruction, changed: set[Value]) -> bool:
    """Whether a line gives a word of its own of words that stay as they are."""
    (result, *others) = line.defines
    if others or line.keeps or result.value.width > 1 or result.value in changed:
        return False
    return all(
        each.value not in changed if isinstance(each, Part) else isinstance(each, int)
        for each in line.operands
    )
