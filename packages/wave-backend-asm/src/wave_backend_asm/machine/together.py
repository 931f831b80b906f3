"""Which instructions stay together, and which nothing is moved across."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Instruction

if TYPE_CHECKING:
    from wave_backend_asm.machine.instruction import Copy

    Operation = Instruction | Copy

_ASKS = ("s_cselect", "s_cbranch_scc", "s_addc", "s_subb")
"""Who reads the condition of the wave."""

_ANSWERS_NOT = ("s_mov", "s_cselect", "s_mul", "s_pack", "s_load")
"""Instructions of the wave that do not write it. Source: CDNA3 ISA, "SCC"."""


def grouped(operations: Sequence[Operation]) -> list[tuple[Operation, ...]]:
    """Operations as groups that stay together.

    These are what fewer lanes run, from where they are chosen to where all are on
    again; and who reads the condition of the wave, from who makes it on.
    """
    joined = [False] * len(operations)  # to the one in front
    for at, each in enumerate(operations):
        if not isinstance(each, Instruction) or not _joins(each.name):
            continue
        if asks(each):
            answer = _answer(operations, at)
            joined[answer + 1 : at + 1] = [True] * (at - answer)
        if form_of(each.name).writes:
            end = _restored(operations, at)
            joined[at + 1 : end + 1] = [True] * (end - at)
    return [*_rows(operations, joined)]


def _rows(
    operations: Sequence[Operation], joined: Sequence[bool]
) -> Iterator[tuple[Operation, ...]]:
    row: list[Operation] = []
    for each, stays in zip(operations, joined, strict=True):
        if row and not stays:
            yield tuple(row)
            row = []
        row.append(each)
    if row:
        yield tuple(row)


def _answer(operations: Sequence[Operation], at: int) -> int:
    """Who makes the condition that an operation reads; else the first of all."""
    for number in reversed(range(at)):
        each = operations[number]
        if isinstance(each, Instruction) and answers(each):
            return number
    return 0


@cache
def _joins(name: str) -> bool:
    """Whether instructions of a name are in a group with others."""
    return _asks(name) or bool(form_of(name).writes)


def asks(operation: Instruction) -> bool:
    """Whether an instruction reads the condition of the wave."""
    return _asks(operation.name)


@cache
def _asks(name: str) -> bool:
    return name.startswith(_ASKS)


def answers(operation: Instruction) -> bool:
    """Whether an instruction writes the condition of the wave."""
    return _answers(operation.name)


@cache
def _answers(name: str) -> bool:
    return form_of(name).unit == "salu" and not name.startswith(_ANSWERS_NOT)


def _restored(operations: Sequence[Operation], at: int) -> int:
    """Where all lanes are on again; the operation itself where that is elsewhere."""
    for number in range(at + 1, len(operations)):
        each = operations[number]
        if isinstance(each, Instruction) and writes_lanes(each):
            return number if "exec" in each.results else at
    return at


def writes_lanes(operation: Instruction) -> bool:
    """Whether other lanes run what follows it."""
    return "exec" in operation.results or bool(form_of(operation.name).writes)


def is_fixed(group: Sequence[Operation]) -> bool:
    """Whether nothing is moved across a group.

    Barriers, priorities, fences and waits of the author's; jumps; and where lanes are
    switched on or off for more than the group.
    """
    first, *others = group
    if not others:
        return isinstance(first, Instruction) and (_fixed(first) or writes_lanes(first))
    return any(isinstance(each, Instruction) and _fixed(each) for each in group)


def have_points(operations: Sequence[Operation]) -> bool:
    """Whether some group of operations may be one that nothing is moved across."""
    return any(
        isinstance(each, Instruction) and (_fixed(each) or writes_lanes(each))
        for each in operations
    )


def _fixed(each: Instruction) -> bool:
    return (
        _stays(each.name)
        or bool(each.demands)
        or each.groups.closes
        or each.groups.left is not None
    )


_CACHES = ("buffer_inv", "buffer_wb")


@cache
def _stays(name: str) -> bool:
    """Whether nothing is moved across instructions of a name."""
    unit = form_of(name).unit
    return unit in ("sync", "branch") or name.startswith(_CACHES)
