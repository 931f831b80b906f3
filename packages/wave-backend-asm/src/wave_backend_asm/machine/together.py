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
        if not isinstance(each, Instruction):
            continue
        if asks(each):
            joined[_answer(operations, at) + 1 : at + 1] = [True] * (
                at - _answer(operations, at)
            )
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
    return any(isinstance(each, Instruction) and _fixed(each) for each in group) or (
        len(group) == 1 and isinstance(group[0], Instruction) and writes_lanes(group[0])
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
