"""Finds too few wait states between instructions of gfx9, where nothing interlocks.

The code that ran is searched backwards from each instruction, through every branch that
leads to it. An S_NOP counts for as many states as it says, all others for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.errors import Report
from wave_emulator_amdgcn.hazards.steps import step_of
from wave_emulator_amdgcn.isa.control import BRANCHES, branch_target
from wave_isa_amdgcn.waitstates import ROWS, STATES, Row, States

if TYPE_CHECKING:
    from wave_emulator_amdgcn.program import Bound, Program
    from wave_isa_amdgcn.step import Step

_NEVER_FALLS = ("S_BRANCH", "S_SETPC_B64", "S_ENDPGM")


@dataclass(frozen=True)
class _Code:
    """The code that ran, by address.

    Attributes:
        steps: as the tables see it.
        before: addresses that may run right before.
        produced: rows that begin there.
    """

    steps: dict[int, Step]
    before: dict[int, list[int]]
    produced: dict[int, list[Row]]


def missing_states(program: Program) -> list[Report]:
    """Missing wait states of the code that ran, a report for each row and place."""
    architecture = program.architecture.name
    chip = STATES.get(architecture)
    if chip is None:
        return []
    rows = [row for row in ROWS if architecture in row.architectures]
    ran = program.executed()
    steps = {bound.instruction.pc: step_of(bound) for bound in ran}
    produced = {pc: [r for r in rows if r.producer(step)] for pc, step in steps.items()}
    code = _Code(steps, _before(ran), produced)
    found: list[Report] = []
    for bound in ran:
        step = steps[bound.instruction.pc]
        wanted = [row for row in rows if row.consumer(step)]
        if wanted:
            found += _missing(chip, bound, wanted, code)
    return found


def _before(code: list[Bound]) -> dict[int, list[int]]:
    """The instructions that may run right before each address."""
    found: dict[int, list[int]] = {}
    for bound in code:
        ins = bound.instruction
        if ins.name not in _NEVER_FALLS:
            found.setdefault(bound.following, []).append(ins.pc)
        if ins.name in BRANCHES:
            found.setdefault(branch_target(ins), []).append(ins.pc)
    return found


def _missing(
    chip: States, bound: Bound, rows: list[Row], code: _Code
) -> Iterator[Report]:
    ins = bound.instruction
    second = code.steps[ins.pc]
    most = max(row.most for row in rows)
    seen: dict[Row, str] = {}
    for pc, states, between in _earlier(code, ins.pc, most):
        for row in code.produced[pc]:
            if row not in rows or states >= row.most or row in seen:
                continue
            if row.between is not None and not any(map(row.between, between)):
                continue
            needed = row.needed(chip, code.steps[pc], second)
            if states < needed:
                seen[row] = f"{row.name}: {states} of {needed} wait states"
    for message in seen.values():
        yield Report("EM0507", message, ins.text, ins.pc, count=bound.count)


def _earlier(
    code: _Code, pc: int, most: int
) -> Iterator[tuple[int, int, tuple[Step, ...]]]:
    """Instructions that may run before one: states and instructions between."""
    best: dict[int, int] = {}
    waiting: list[tuple[int, int, tuple[Step, ...]]] = [(pc, 0, ())]
    while waiting:
        at, states, between = waiting.pop()
        for previous in code.before.get(at, []):
            if states >= best.get(previous, most):
                continue
            best[previous] = states
            yield previous, states, between
            step = code.steps[previous]
            waiting.append((previous, states + step.states, (*between, step)))
