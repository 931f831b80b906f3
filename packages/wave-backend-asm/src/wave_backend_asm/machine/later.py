"""Who waits for memory waits behind a barrier, not in front of it.

What is loaded for later is often changed at once. In front of a barrier each wave would
wait for memory, and then for the others.
"""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING

from wave_backend_asm.machine.ahead import is_free, switches
from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Instruction
from wave_backend_asm.machine.together import grouped, have_points, is_fixed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.instruction import Copy

    Operation = Instruction | Copy
    Group = tuple[Operation, ...]


def later(
    operations: Sequence[Operation], writes: Mapping[Value, int]
) -> list[Operation]:
    """Operations without a label between, those that wait for memory behind a point.

    They are the free ones that need what was loaded in front of the same point and that
    nobody needs there.

    Args:
        operations: in their order.
        writes: how often each value is written in the whole program.
    """
    if not (any(map(_loads, operations)) and have_points(operations)):
        return [*operations]
    rows = [
        (fixed, [*groups]) for fixed, groups in groupby(grouped(operations), is_fixed)
    ]
    parts = [groups for _, groups in rows]
    for at in range(2, len(rows)):
        point = parts[at - 1]
        if not rows[at][0] and not switches(point):
            parts[at - 2], moved = _split(parts[at - 2], point, writes)
            parts[at] = [*moved, *parts[at]]
    return [each for groups in parts for each in chain.from_iterable(groups)]


def _split(
    groups: Sequence[Group], point: Sequence[Group], writes: Mapping[Value, int]
) -> tuple[list[Group], list[Group]]:
    """What stays in front of a point, and what may wait for memory behind it."""
    waiting = _waiting(groups)
    if not waiting:
        return [*groups], []
    kept: list[Group] = []
    moved: list[Group] = []
    needed = {value for group in point for value in _read(group)}
    changed = {value for group in point for value in _made(group)}
    for group in reversed(groups):
        read, made = _read(group), _made(group)
        free = len(group) == 1 and is_free(group[0], writes)
        if free and waiting & read and not (needed & made or changed & read):
            moved.append(group)
        else:
            kept.append(group)
            needed |= read
            changed |= made
    return kept[::-1], moved[::-1]


def _waiting(groups: Sequence[Group]) -> set[Value]:
    """What some groups load, or compute from it."""
    found: set[Value] = set()
    for group in groups:
        if any(map(_loads, group)) or not found.isdisjoint(_read(group)):
            found |= _made(group)
    return found


def _loads(each: Operation) -> bool:
    return isinstance(each, Instruction) and form_of(each.name).unit == "vmem"


def _read(group: Group) -> set[Value]:
    return {part.value for each in group for part in each.uses}


def _made(group: Group) -> set[Value]:
    return {part.value for each in group for part in each.defines}
