"""One instruction for two operations: a shift and a sum, a product and a sum.

An instruction of lanes is left out where all who read its result can do its work as
well. They are in the same stretch of code, without a label or a jump between. A sum is
rounded once with its product only where fast math lets both of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from wave_backend_asm.code import Part, registers_of
from wave_backend_asm.machine.halves import halves_of, text_of_halves
from wave_backend_asm.machine.instruction import Instruction, Label
from wave_backend_asm.machine.operands import Operand, is_literal, is_scalar

if TYPE_CHECKING:
    from wave_backend_asm.code import Register
    from wave_backend_asm.machine.program import Line


class Row(NamedTuple):
    """What does the work of two instructions.

    Attributes:
        name: the mnemonic.
        order: its operands: 0 and 1 are those of the first, 2 is the one that the
            second has beside the result of the first.
        at: which operand of the second that result has to be; ``None`` for any.
        once: it rounds once where the two round twice.
    """

    name: str
    order: tuple[int, int, int] = (0, 1, 2)
    at: int | None = None
    once: bool = False


_SHIFTED = (1, 0, 2)
"""A shift has its distance first; an instruction of three operands has it second."""

_ROWS: dict[tuple[str, str], Row] = {
    ("v_lshlrev_b32", "v_add_u32"): Row("v_lshl_add_u32", _SHIFTED),
    ("v_lshlrev_b32", "v_or_b32"): Row("v_lshl_or_b32", _SHIFTED),
    ("v_add_u32", "v_lshlrev_b32"): Row("v_add_lshl_u32", at=1),
    ("v_add_u32", "v_add_u32"): Row("v_add3_u32"),
    ("v_xor_b32", "v_add_u32"): Row("v_xad_u32"),
    ("v_mul_u32_u24", "v_add_u32"): Row("v_mad_u32_u24"),
    ("v_and_b32", "v_or_b32"): Row("v_and_or_b32"),
    ("v_or_b32", "v_or_b32"): Row("v_or3_b32"),
    **{
        (f"v_{which}_{kind}", f"v_{which}_{kind}"): Row(f"v_{which}3_{kind}")
        for which in ("max", "min")
        for kind in ("f32", "i32", "u32")
    },
    **{(name, name): Row(name) for name in ("v_maximum3_f32", "v_minimum3_f32")},
    ("v_mul_f32", "v_add_f32"): Row("v_fma_f32", once=True),
    ("v_mul_f32", "v_sub_f32"): Row("v_fma_f32", once=True),
    ("v_pk_mul_f32", "v_pk_add_f32"): Row("v_pk_fma_f32", once=True),
    ("v_pk_mul_f16", "v_pk_add_f16"): Row("v_pk_fma_f16", once=True),
}
"""By the names of the first and the second. Source: CDNA3 ISA, VOP3 and VOP3P."""

_FIRST = frozenset([first for first, _ in _ROWS])
_SECOND = frozenset([second for _, second in _ROWS])


def fused(lines: Sequence[Line], *, literals: bool = True) -> list[Line]:
    """The program with one instruction where it does the work of two.

    Args:
        lines: the program.
        literals: whether a product with a sum may have a number in a word of its own.
    """
    operations = [line for line in lines if not isinstance(line, Label)]
    # What nobody could do the work of is not counted: that is most.
    firsts = [each for each in operations if _may_be_first(each)]
    if not firsts:
        return [*lines]
    made = {part.value for each in firsts for part in each.defines}
    known = made | {part.value for each in firsts for part in each.uses}
    reads = Counter(
        registers_of(p for o in operations for p in o.uses if p.value in made)
    )
    writes = Counter(
        registers_of(p for o in operations for p in o.defines if p.value in known)
    )
    found: list[Line] = []
    stretch: list[Line] = []
    for line in lines:
        stretch.append(line)
        if isinstance(line, Label) or (isinstance(line, Instruction) and line.target):
            found += _Stretch(reads, writes, literals=literals).fused(stretch)
            stretch = []
    return found + _Stretch(reads, writes, literals=literals).fused(stretch)


def _may_be_first(line: Line) -> bool:
    """Whether an instruction has a form whose work others can do."""
    if not isinstance(line, Instruction) or line.name not in _FIRST:
        return False
    alone = len(line.defines) == 1 and not line.keeps and not line.negates
    return alone and len(_sides(line)) == _SIDES


class _Stretch:
    """Lines of which each comes after the one before."""

    def __init__(
        self, reads: Counter[Register], writes: Counter[Register], *, literals: bool
    ) -> None:
        """How often the whole program reads and writes each register."""
        self._reads, self._writes, self._literals = reads, writes, literals
        # By their results; those whose operands still are what they were.
        self._held: dict[Part, Instruction] = {}
        # Their results, by those of their operands that may become something else.
        self._readers: dict[Register, list[Part]] = {}
        self._done: set[Instruction] = set()

    def fused(self, lines: Sequence[Line]) -> list[Line]:
        """The lines, without those whose work others do."""
        wanted = self._wanted(lines)
        if not wanted:
            return [*lines]
        found: list[Line] = []
        for line in lines:
            made = self._with_first(line) if isinstance(line, Instruction) else line
            if not isinstance(made, Label):
                self._overwrite(made.defines)
            if isinstance(made, Instruction) and made in wanted:
                self._hold(made)
            found.append(made)
        return [line for line in found if line not in self._done]

    def _wanted(self, lines: Sequence[Line]) -> set[Instruction]:
        """Those whose work all can do that read their result."""
        firsts: dict[Part, Instruction] = {}
        takers: Counter[Part] = Counter()
        for line in lines:
            if not isinstance(line, Instruction):
                continue
            for at, first in self._firsts_of(line, firsts):
                result = first.defines[0]
                if self._both(first, line, at) is not None:
                    takers[result] += line.uses.count(result)
            if self._is_first(line):
                firsts[line.defines[0]] = line
        return {
            line
            for result, line in firsts.items()
            if all(
                self._reads[each] == takers[result] for each in registers_of([result])
            )
        }

    def _is_first(self, line: Instruction) -> bool:
        return _may_be_first(line) and all(
            self._writes[each] == 1 for each in registers_of(line.defines)
        )

    @staticmethod
    def _firsts_of(
        line: Instruction, firsts: Mapping[Part, Instruction]
    ) -> list[tuple[int, Instruction]]:
        """Who makes an operand, and which one; none where it is read twice."""
        if line.name not in _SECOND or line.negates or not firsts:
            return []
        sides = _sides(line)
        if len({*sides}) != _SIDES:
            return []
        return [
            (at, firsts[each])
            for at, each in enumerate(sides)
            if isinstance(each, Part) and each in firsts
        ]

    def _with_first(self, line: Instruction) -> Instruction:
        """An instruction that does the work of another one as well, if it can."""
        firsts = self._firsts_of(line, self._held)
        for at, first in sorted(firsts, key=self._readers_of):
            made = self._both(first, line, at)
            if made is None:
                continue
            result = first.defines[0]
            registers, times = registers_of([result]), line.uses.count(result)
            for each in registers:
                self._reads[each] -= times
            if not any(self._reads[each] for each in registers):
                self._done.add(first)
            return made
        return line

    def _both(
        self, first: Instruction, second: Instruction, at: int
    ) -> Instruction | None:
        """The instruction that does the work of two, if the chip has it."""
        return _both(first, second, at, literals=self._literals)

    def _readers_of(self, row: tuple[int, Instruction]) -> int:
        """How often what somebody makes is read: what others read stays anyway."""
        return max(self._reads[each] for each in registers_of(row[1].defines))

    def _hold(self, line: Instruction) -> None:
        """Know an instruction until one of its operands is overwritten."""
        (result,) = line.defines
        self._held[result] = line
        for each in registers_of(line.uses):
            if self._writes[each] > 1:
                self._readers.setdefault(each, []).append(result)

    def _overwrite(self, results: Sequence[Part]) -> None:
        """Forget who reads what is no longer what it was."""
        for each in registers_of(results) if self._readers else ():
            for result in self._readers.pop(each, ()):
                self._held.pop(result, None)


_SIDES = 2
"""Operands of every instruction that another one can do the work of."""


def _sides(line: Instruction) -> tuple[Operand, ...]:
    """The operands; one that stands for the third as well counts once."""
    one, *others = line.operands or (0,)
    if len(others) == _SIDES and others[0] == others[1]:
        return one, others[0]
    return line.operands


def _both(
    first: Instruction, second: Instruction, at: int, *, literals: bool
) -> Instruction | None:
    """The instruction that does the work of two; ``None`` where there is none.

    Args:
        first: the one that makes an operand.
        second: the one that reads it.
        at: which operand that is.
        literals: whether a product with a sum may have a number in a word of its own.
    """
    row = _ROWS.get((first.name, second.name))
    if row is None or row.at not in (None, at):
        return None
    if row.once and not (first.late and second.late):
        return None
    given = (*_sides(first), _sides(second)[1 - at])
    one, two, three = (given[number] for number in row.order)
    if "_pk_" in row.name:
        return _of_halves(replace(second, name=row.name), (one, two, three), first, at)
    negates = () if second.name != "v_sub_f32" else (2,) if at == 0 else (0,)
    made = replace(second, name=row.name, operands=(one, two, three), negates=negates)
    if _is_readable(made.operands):
        return made
    may = literals and row.name == "v_fma_f32" and not negates
    return _with_number(made) if may else None


def _is_readable(operands: Sequence[Operand]) -> bool:
    """At most one register of the wave is read, and no number has a word of its own."""
    scalars = {each for each in operands if isinstance(each, Part) and is_scalar(each)}
    return len(scalars) <= 1 and not any(map(is_literal, operands))


def _with_number(made: Instruction) -> Instruction | None:
    """The form of a sum of a product that has a number in a word of its own.

    Its last operand is of lanes, and so is what else there may be of registers.
    """
    one, two, three = made.operands
    if is_literal(one):
        one, two = two, one
    name, others = ("v_fmaak_f32", (one, two))
    if is_literal(two):
        name, others = "v_fmamk_f32", (one, three)
    elif not is_literal(three):
        return None
    if not all(isinstance(each, Part) and not is_scalar(each) for each in others):
        return None
    return replace(made, name=name, operands=(one, two, three))


def _of_halves(
    made: Instruction, operands: tuple[Operand, ...], first: Instruction, at: int
) -> Instruction | None:
    """The same of two elements, each operand taken as one of the two takes it."""
    sides = halves_of(made.modifiers, _SIDES)
    one, two = halves_of(first.modifiers, _SIDES)
    if not sides[at].apart or not _is_readable(operands):
        return None
    one = one._replace(negated=one.negated != sides[at].negated)
    modifiers = text_of_halves([one, two, sides[1 - at]])
    return replace(made, operands=operands, modifiers=modifiers)
