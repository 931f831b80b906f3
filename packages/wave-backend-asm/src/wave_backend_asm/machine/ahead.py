"""Addresses and other numbers are computed in front of a barrier, not behind it.

Waves wait in front of a barrier for what is to be there behind it. What needs nothing
of that is computed meanwhile: its operands are there, not on their way from memory, and
it touches registers alone.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Instruction
from wave_backend_asm.machine.together import (
    asks,
    grouped,
    have_points,
    is_fixed,
    writes_lanes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.instruction import Copy

    Operation = Instruction | Copy
    Group = tuple[Operation, ...]


def ahead(
    operations: Sequence[Operation], writes: Mapping[Value, int]
) -> list[Operation]:
    """Operations without a label between, the free ones behind the last point ahead.

    In front of other points are loads that are wanted soon; what is free would come
    between them.

    Args:
        operations: in their order.
        writes: how often each value is written in the whole program.
    """
    if not have_points(operations):
        return [*operations]
    rows = [
        (fixed, [*groups]) for fixed, groups in groupby(grouped(operations), is_fixed)
    ]
    last = max((at for at, (fixed, _) in enumerate(rows) if not fixed), default=0)
    if last < _ROWS or switches(rows[last - 1][1]):
        return [*operations]
    before = [each for _, groups in rows[:last] for group in groups for each in group]
    first, rest = _split(rows[last][1], _missing(before, rows[last - 1][1]), writes)
    parts = [groups for _, groups in rows]
    parts[last - 1 : last + 1] = [first, parts[last - 1], rest]
    return [each for groups in parts for group in groups for each in group]


_ROWS = 2
"""A row that is ordered, a fixed one, and one behind it: the number of the last."""


def switches(groups: Sequence[Group]) -> bool:
    """Whether other lanes run what follows."""
    every = [each for group in groups for each in group]
    return any(isinstance(each, Instruction) and writes_lanes(each) for each in every)


def _missing(before: Sequence[Operation], fixed: Sequence[Group]) -> set[Value]:
    """What is not there in front of a stretch of code that is not free.

    That is what the stretch makes, and what is loaded and was not read until then:
    who reads it waits for it.
    """
    found: set[Value] = set()
    for each in before:
        found.difference_update([part.value for part in each.uses])
        if isinstance(each, Instruction) and form_of(each.name).counter:
            found.update([part.value for part in each.defines])
    made = [part.value for group in fixed for each in group for part in each.defines]
    return found.union(made)


def _split(
    groups: Sequence[Group], missing: set[Value], writes: Mapping[Value, int]
) -> tuple[list[Group], list[Group]]:
    """What needs nothing that is missing, and the others."""
    made = {*missing}
    first: list[Group] = []
    rest: list[Group] = []
    for group in groups:
        free = len(group) == 1 and is_free(group[0], writes)
        if free and made.isdisjoint([part.value for part in group[0].uses]):
            first.append(group)
            continue
        made.update(part.value for each in group for part in each.defines)
        rest.append(group)
    return first, rest


def is_free(each: Operation, writes: Mapping[Value, int]) -> bool:
    """It computes, of registers alone, a value that nothing else writes."""
    if not isinstance(each, Instruction) or each.keeps or asks(each):
        return False
    form = form_of(each.name)
    if form.unit not in ("valu", "salu") or form.reads or form.writes or form.updates:
        return False
    if any(isinstance(part, str) for part in (*each.results, *each.operands)):
        return False  # a register of the machine, which others may write
    return bool(each.defines) and all(writes[p.value] == 1 for p in each.defines)
