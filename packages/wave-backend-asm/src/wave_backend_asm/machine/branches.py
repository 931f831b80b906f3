"""What only the code behind a branch reads is computed there.

Code goes to the region furthest out that has its operands, so that loops do not repeat
it. In front of a branch it is computed for nothing where the branch is taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Copy, Instruction, Label
from wave_backend_asm.machine.together import answers, asks, grouped

if TYPE_CHECKING:
    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.program import Line

    Operation = Instruction | Copy
    Group = tuple[Operation, ...]

_ACROSS = re.compile(r"v_(mfma|permlane|readlane|writelane)\w*|ds_\w*perm\w*|\w+_dpp")
"""They read lanes that a branch has left out, which compute nothing behind it."""


def behind_branches(lines: Sequence[Line]) -> list[Line]:
    """The program with what only the code behind a branch reads behind the branch."""
    if not any(map(_is_branch, lines)):
        return [*lines]
    found, counts = [*lines], _Counts(lines)
    for branch in [line for line in lines if _is_branch(line)]:
        at = found.index(branch)
        end = _end(found, at)
        if end is not None:
            _sink(found, at, end, counts)
    return found


class _Counts:
    """How often a program reads and writes each value."""

    def __init__(self, lines: Sequence[Line]) -> None:
        operations = _operations(lines)
        self.reads = Counter(_read(operations))
        self.writes = Counter(_written(operations))


def _operations(lines: Sequence[Line]) -> list[Operation]:
    return [line for line in lines if not isinstance(line, Label)]


def _read(operations: Iterable[Operation]) -> list[Value]:
    return [part.value for each in operations for part in each.uses]


def _written(operations: Iterable[Operation]) -> list[Value]:
    return [part.value for each in operations for part in each.defines]


def _is_branch(line: Line) -> bool:
    return isinstance(line, Instruction) and line.name == "s_cbranch_execz"


def _end(lines: Sequence[Line], at: int) -> int | None:
    """Where a branch leads to, if that is further on and nothing leads in between."""
    branch = lines[at]
    assert isinstance(branch, Instruction), "a branch"
    names: set[str] = set()
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if isinstance(line, Label):
            if line.name == branch.target:
                break
            names.add(line.name)
    else:
        return None
    outside = [*lines[:at], *lines[number:]]
    targets = {each.target for each in outside if isinstance(each, Instruction)}
    return None if targets & names else number


def _sink(lines: list[Line], at: int, end: int, counts: _Counts) -> None:
    """Move what only the lines from a branch up to a label read behind the branch."""
    start = at
    while start and not _stops(lines[start - 1]):
        start -= 1
    front, behind = _operations(lines[start : at + 1]), _operations(lines[at + 1 : end])
    if not _makes_condition(behind):
        return
    *groups, last = grouped(front)
    region = _Region(counts, front, behind, last)
    sunk = [group for group in reversed(groups) if region.takes(group)]
    gone = {id(group) for group in sunk}
    kept = [group for group in groups if id(group) not in gone]
    moved = [*kept, last, *reversed(sunk)]
    lines[start : at + 1] = [each for group in moved for each in group]


class _Region:
    """What lies behind a branch, and what stays in front of it."""

    def __init__(
        self, counts: _Counts, front: Sequence[Operation],
        behind: Sequence[Operation], last: Group,
    ) -> None:  # fmt: skip
        self._counts = counts
        self._front, self._reads = Counter(_written(front)), Counter(_read(behind))
        self._across = {
            p.value for each in behind if _is_across(each) for p in each.uses
        }
        self._stays: set[Value] = {*_written(last)}

    def takes(self, group: Group) -> bool:
        """Whether a group goes there; those behind it in front have been asked."""
        made, read = _written(group), _read(group)
        goes = (
            bool(made)
            and all(map(_computes, group))
            and all(map(self._is_alone, made))
            and self._stays.isdisjoint([*made, *read])
        )
        if goes:
            self._reads.update(read)
        else:
            self._stays.update(made)
        return goes

    def _is_alone(self, value: Value) -> bool:
        """Whether nobody else reads or writes a value, and no lane reads another's."""
        counts = self._counts
        return (
            self._reads[value] == counts.reads[value]
            and self._front[value] == counts.writes[value]
            and value not in self._across
        )


def _stops(line: Line) -> bool:
    """Whether nothing is moved across a line."""
    return isinstance(line, Label) or (
        isinstance(line, Instruction) and bool(line.target)
    )


def _makes_condition(behind: Sequence[Operation]) -> bool:
    """Whether nobody reads the condition of the wave that is made in front."""
    for each in behind:
        if isinstance(each, Instruction):
            if asks(each):
                return False
            if answers(each):
                return True
    return True


def _computes(each: Operation) -> bool:
    """Of registers of values alone, for each lane or for the wave, no others."""
    if isinstance(each, Copy):
        return True
    form = form_of(each.name)
    if form.unit not in ("valu", "salu") or form.reads or form.writes or form.updates:
        return False
    words = [part for part in (*each.results, *each.operands) if isinstance(part, str)]
    return not (words or each.keeps or _is_across(each))


def _is_across(each: Operation) -> bool:
    return isinstance(each, Instruction) and _reads_lanes(each.name)


@cache
def _reads_lanes(name: str) -> bool:
    return _ACROSS.fullmatch(name) is not None
