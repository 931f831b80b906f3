"""Sums and products of two f32 at once, where they lie side by side.

Source: CDNA3 ISA, V_PK_ADD_F32 and V_PK_MUL_F32: operands are pairs of registers, of
lanes or of the wave, or a number that both halves read as the lower one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from wave_backend_asm.machine.halves import Halves, text_of_halves
from wave_backend_asm.machine.operands import (
    SCALARS,
    VECTORS,
    Operand,
    Virtual,
    is_inline,
    is_scalar,
)
from wave_backend_asm.select.builder import consecutive

if TYPE_CHECKING:
    from wave_backend_asm.select.builder import Builder

Words = Sequence[Operand]

_WIDEST = 16
"""Registers that results lie side by side in: those of the largest sums of products."""

_SHARED = 4
"""Elements from which on it pays to have an operand of all of them in two registers."""


class _Instruction(NamedTuple):
    """An instruction of two elements.

    Attributes:
        name: its mnemonic.
        negates: the second operand is taken with the other sign.
    """

    name: str
    negates: bool = False


_INSTRUCTIONS = {
    "addf": _Instruction("v_pk_add_f32"),
    "subf": _Instruction("v_pk_add_f32", negates=True),
    "mulf": _Instruction("v_pk_mul_f32"),
}


def packed(b: Builder, word: str, one: Words, two: Words) -> tuple[Operand, ...] | None:
    """An operation on elements two by two; ``None`` where there is no gain.

    Args:
        b: where code goes.
        word: of `Instructions`.
        one: the elements of the first operand.
        two: those of the second one, as many.
    """
    if word not in _INSTRUCTIONS or len(one) < 2 or len(one) % 2:
        return None
    if not (_lie_in_pairs(b, one, two) and _lie_in_pairs(b, two, one)):
        return None
    found: list[Operand] = []
    for start in range(0, len(one), _WIDEST):
        rows = one[start : start + _WIDEST], two[start : start + _WIDEST]
        result = Virtual(len(rows[0]))
        for at in range(0, result.width, 2):
            pairs = [row[at : at + 2] for row in rows]
            part = result.all._replace(first=at, width=2)
            _say(b, _INSTRUCTIONS[word], part, pairs)
        found += result.parts()
    return tuple(found)


def _lie_in_pairs(b: Builder, words: Words, others: Words) -> bool:
    """Whether each two are registers side by side, or may be, or all are one operand.

    One operand is put in two registers where enough elements share it and the others
    are no such one.
    """
    if len(set(words)) == 1:
        return len(words) >= _SHARED and len(set(others)) > 1
    pairs = [words[at : at + 2] for at in range(0, len(words), 2)]
    return all(
        consecutive(pair, VECTORS) is not None or b.may_lie_side_by_side(pair)
        for pair in pairs
    )


def _pair(b: Builder, words: Words) -> Operand:
    first = words[0]
    if first != words[1]:
        beside = b.may_lie_side_by_side(words)
        return b.side_by_side(words) if beside else b.together(words)
    if is_inline(first):
        return first
    if isinstance(first, int):
        # The upper word is nobody's: both halves are the lower one.
        return b.kept(("pair", first), lambda: b.salu("s_mov_b64", first, width=2))
    return b.together(words, SCALARS if is_scalar(first) else VECTORS)


def _say(
    b: Builder, row: _Instruction, result: Operand, pairs: Sequence[Words]
) -> None:
    """Append the instruction; of a number, both halves are the lower one."""
    one, two = (Halves(apart=not isinstance(pair[0], int)) for pair in pairs)
    sides = [_pair(b, pair) for pair in pairs]
    taken = [one, two._replace(negated=row.negates)]
    b.say(row.name, (result,), sides, text_of_halves(taken))
