"""Masks of lanes are made where they are wanted first.

A comparison of many elements makes a mask of two registers of the wave for each; made
one after the other, each in front of its use, they take the same two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Instruction
from wave_backend_asm.machine.operands import SCALARS
from wave_backend_asm.machine.together import asks

if TYPE_CHECKING:
    from wave_backend_asm.code import Value
    from wave_backend_asm.machine.instruction import Copy

    Operation = Instruction | Copy

_LOGIC = ("s_and_b64", "s_or_b64", "s_xor_b64", "s_andn2_b64")


def sunk(operations: Sequence[Operation], writes: Counter[Value]) -> list[Operation]:
    """Operations without a label between, with masks as late as they can be.

    Args:
        operations: in their order.
        writes: how often each value is written in the whole program.
    """
    sinks = [_may_sink(each, writes) for each in operations]
    if not any(sinks):
        return [*operations]
    held: dict[Value, Instruction] = {}
    found: list[Operation] = []
    end = 0
    for at, operation in enumerate(operations):
        if isinstance(operation, Instruction) and _narrows(operation):
            end = _restored(operations, at)
            for each in operations[at + 1 : end]:
                # All lanes are on here, and not there.
                found += [*_needed(each, held), *_overwritten(each, held)]
        if isinstance(operation, Instruction) and sinks[at] and at >= end:
            held[operation.defines[0].value] = operation
            continue
        if held:
            found += _wanted(operations, at, held, within=at <= end)
        found.append(operation)
    return [*found, *_released([*held.values()], held)]


def _wanted(
    operations: Sequence[Operation], at: int, held: dict[Value, Instruction], *,
    within: bool,
) -> list[Instruction]:  # fmt: skip
    """What has to come in front of one of the operations, no longer held.

    Args:
        operations: in their order.
        at: the number of the one.
        held: instructions that may come later.
        within: fewer lanes run it.
    """
    operation, *follows = operations[at : at + 2]
    wanted = [operation]
    if follows and _reads_condition(follows[0]):
        wanted += follows  # nothing may come between the two
    found: list[Instruction] = []
    if any(map(_jumps, wanted)):
        # What is made behind a jump is not there where it leads to.
        found += _released([*held.values()], held)
    if not _reads_condition(operation):
        for each in wanted:
            found += _needed(each, held)
            found += _endangered(each, held, within=within)
    return found


def _may_sink(operation: Operation, writes: Counter[Value]) -> bool:
    """It makes a mask of operands alone."""
    if not isinstance(operation, Instruction) or not _makes_mask(operation.name):
        return False
    if len(operation.defines) != 1 or "exec" in operation.operands:
        return False
    (result,) = operation.defines
    return result.value.files == SCALARS and writes[result.value] == 1


@cache
def _makes_mask(name: str) -> bool:
    return name.startswith("v_cmp_") or name in _LOGIC


def _reads_condition(operation: Operation) -> bool:
    return isinstance(operation, Instruction) and asks(operation)


def _jumps(operation: Operation) -> bool:
    return isinstance(operation, Instruction) and bool(operation.target)


def _needed(operation: Operation, held: dict[Value, Instruction]) -> list[Instruction]:
    """What has to come in front of an operation, no longer held."""
    if not held:
        return []
    rows = [held[p.value] for p in operation.uses if p.value in held]
    return _released(rows, held)


def _released(
    rows: Sequence[Instruction], held: dict[Value, Instruction]
) -> list[Instruction]:
    """Held instructions, each behind those that it needs itself."""
    found: list[Instruction] = []
    for row in rows:
        if held.pop(row.defines[0].value, None) is not None:
            found += [*_needed(row, held), row]
    return found


def _endangered(
    operation: Operation, held: dict[Value, Instruction], *, within: bool
) -> list[Instruction]:
    """What reads registers that an operation is about to write, or EXEC.

    Code that fewer lanes run, up to the point where all are on again, is jumped over.
    """
    changes = isinstance(operation, Instruction) and _writes_exec(operation)
    if changes and not within:
        return _released([*held.values()], held)
    return _overwritten(operation, held)


def _overwritten(
    operation: Operation, held: dict[Value, Instruction]
) -> list[Instruction]:
    if not held:
        return []
    written = {part.value for part in operation.defines}
    rows = [row for row in held.values() if any(p.value in written for p in row.uses)]
    return _released(rows, held)


def _narrows(operation: Instruction) -> bool:
    """Fewer lanes run what follows."""
    return bool(form_of(operation.name).writes)


def _restored(operations: Sequence[Operation], start: int) -> int:
    """Where all lanes are on again behind an operation; or in front of it."""
    for at in range(start + 1, len(operations)):
        each = operations[at]
        if isinstance(each, Instruction) and _writes_exec(each):
            return at if "exec" in each.results else start - 1
    return start - 1


def _writes_exec(operation: Instruction) -> bool:
    return "exec" in operation.results or bool(form_of(operation.name).writes)


def counted(operations: Iterator[Operation]) -> Counter[Value]:
    """How often each value is written."""
    return Counter(part.value for each in operations for part in each.defines)
