"""Finds too few wait states between instructions of gfx9, where nothing interlocks.

The code that ran is searched backwards from each instruction, through every branch that
leads to it. An S_NOP counts for as many states as it says, all others for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.errors import Report
from wave_emulator_amdgcn.hazards.waitstates import ROWS, STATES, Row, States
from wave_emulator_amdgcn.isa.control import BRANCHES, branch_target

if TYPE_CHECKING:
    from wave_emulator_amdgcn.program import Bound, Program

_NEVER_FALLS = ("S_BRANCH", "S_SETPC_B64", "S_ENDPGM")


def missing_states(program: Program) -> list[Report]:
    """Missing wait states of the code that ran, a report for each row and place."""
    architecture = program.architecture.name
    chip = STATES.get(architecture)
    if chip is None:
        return []
    rows = [row for row in ROWS if architecture in row.architectures]
    code = program.executed()
    before = _before(code)
    produced = {
        bound.instruction.pc: [r for r in rows if r.producer(bound)] for bound in code
    }
    found: list[Report] = []
    for bound in code:
        wanted = [row for row in rows if row.consumer(bound)]
        if wanted:
            found += _missing(chip, bound, wanted, (before, produced))
    return found


def _before(code: list[Bound]) -> dict[int, list[Bound]]:
    """The instructions that may run right before each address."""
    found: dict[int, list[Bound]] = {}
    for bound in code:
        name = bound.instruction.name
        if name not in _NEVER_FALLS:
            found.setdefault(bound.following, []).append(bound)
        if name in BRANCHES:
            target = branch_target(bound.instruction)
            found.setdefault(target, []).append(bound)
    return found


def _missing(
    chip: States,
    second: Bound,
    rows: list[Row],
    code: tuple[dict[int, list[Bound]], dict[int, list[Row]]],
) -> Iterator[Report]:
    before, produced = code
    most = max(row.most for row in rows)
    seen: dict[Row, str] = {}
    for first, states, between in _earlier(before, second, most):
        for row in produced[first.instruction.pc]:
            if row not in rows or states >= row.most or row in seen:
                continue
            if row.between is not None and not any(map(row.between, between)):
                continue
            needed = row.needed(chip, first, second)
            if states < needed:
                seen[row] = f"{row.name}: {states} of {needed} wait states"
    ins = second.instruction
    for message in seen.values():
        yield Report("EM0507", message, ins.text, ins.pc, count=second.count)


def _earlier(
    before: dict[int, list[Bound]], bound: Bound, most: int
) -> Iterator[tuple[Bound, int, tuple[Bound, ...]]]:
    """Instructions that may run before one: states and instructions between."""
    best: dict[int, int] = {}
    waiting: list[tuple[Bound, int, tuple[Bound, ...]]] = [(bound, 0, ())]
    while waiting:
        at, states, between = waiting.pop()
        for previous in before.get(at.instruction.pc, []):
            pc = previous.instruction.pc
            if states >= best.get(pc, most):
                continue
            best[pc] = states
            yield previous, states, between
            nop = previous.instruction.name == "S_NOP"
            step = previous.instruction.get("simm16") + 1 if nop else 1
            waiting.append((previous, states + step, (*between, previous)))
