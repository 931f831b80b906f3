"""Operands that other lanes of a row have, where a move between lanes was in front.

The first operand of an instruction of lanes can come from another lane, so that the
move is left out where its only reader is such an instruction, in the same stretch of
code and with the same lanes on. Source: CDNA3 ISA, "Data Parallel Primitives".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from wave_backend_asm.code import Part
from wave_backend_asm.machine.instruction import Copy, Instruction, Label
from wave_backend_asm.machine.operands import is_scalar
from wave_backend_asm.machine.together import writes_lanes

if TYPE_CHECKING:
    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.program import Line

_MOVE = "v_mov_b32_dpp"

SWAPPED = {
    **{
        name: name
        for name in (
            *("v_add_f32", "v_mul_f32", "v_min_f32", "v_max_f32", "v_min_i32"),
            *("v_max_i32", "v_min_u32", "v_max_u32", "v_and_b32", "v_or_b32"),
            *("v_xor_b32", "v_add_u32"),
        )
    },
    "v_sub_u32": "v_subrev_u32",
    "v_subrev_u32": "v_sub_u32",
}
"""Who may have its first operand from another lane, and its name with both swapped."""


def from_other_lanes(lines: Sequence[Line]) -> list[Line]:
    """The program without moves between lanes that their readers can do."""
    moved = {line.defines[0].value for line in lines if _moves(line)}
    if not moved:
        return [*lines]
    reads = Counter(value for line in lines for value in _values(line, moved))
    held = _Held()
    done: set[Line] = set()
    found: list[Line] = []
    for line in lines:
        made = line
        if isinstance(line, Instruction):
            made = _with_move(line, held.moves, done)
        held.pass_by(line)
        if _moves(line) and reads[line.defines[0].value] == 1:
            held.hold(line)
        found.append(made)
    return [line for line in found if line not in done]


def _values(line: Line, among: set[Value]) -> list[Value]:
    """What a line reads of some values, and what it adds to."""
    if isinstance(line, Label):
        return []
    return [part.value for part in line.uses if part.value in among]


def _moves(line: Line) -> TypeGuard[Instruction]:
    """It gives lanes a word of others; what those get that it leaves out is nothing."""
    if not isinstance(line, Instruction) or line.name != _MOVE or line.keeps:
        return False
    return line.defines[0].value.width == 1


class _Held:
    """The moves of a stretch that give the same here as where they stand.

    Attributes:
        moves: by what they give.
    """

    def __init__(self) -> None:
        """None is."""
        self.moves: dict[Value, Instruction] = {}
        self._readers: defaultdict[Value, list[Value]] = defaultdict(list)

    def hold(self, move: Instruction) -> None:
        """One more."""
        given, read = move.defines[0].value, move.uses[0].value
        self.moves[given] = move
        self._readers[read].append(given)

    def pass_by(self, line: Line) -> None:
        """Forget moves that give something else behind a line."""
        if not self.moves:
            return
        if isinstance(line, Label) or _begins(line):
            self.moves.clear()
            self._readers.clear()
            return
        for value in {part.value for part in line.defines}:
            self.moves.pop(value, None)
            for each in self._readers.pop(value, ()):
                if each in self.moves and self.moves[each].uses[0].value is value:
                    del self.moves[each]


def _begins(line: Instruction | Copy) -> bool:
    """Whether other lanes may run what follows, or nobody."""
    return isinstance(line, Instruction) and bool(line.target or writes_lanes(line))


def _with_move(
    line: Instruction, held: Mapping[Value, Instruction], done: set[Line]
) -> Instruction:
    """An instruction that does a move as well, if it can."""
    if line.name not in SWAPPED or line.modifiers or line.negates or line.keeps:
        return line
    for at, each in enumerate(line.operands):
        other = line.operands[1 - at]
        if not isinstance(each, Part) or each.value not in held:
            continue
        if not isinstance(other, Part) or is_scalar(other):
            continue
        move = held[each.value]
        done.add(move)
        name = SWAPPED[line.name] if at else line.name
        return replace(
            line, name=f"{name}_dpp", operands=(move.uses[0], other),
            modifiers=move.modifiers, late=False,
        )  # fmt: skip
    return line
