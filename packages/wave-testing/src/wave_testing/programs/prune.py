"""Dropping steps that no output depends on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_testing.programs.model import Program, Step

_WRITES = ("write", "atomic", "exchange", "copy")
_EFFECTS = (*_WRITES, "set_symbol", "barrier", "hint")


def pruned(program: Program) -> Program:
    """The program without steps and parameters that change nothing."""
    used: set[str] = set()
    steps = _needed(program.steps, used, _memories(program, program.steps))
    return program.with_steps(steps)


def _memories(program: Program, steps: tuple[Step, ...]) -> set[str]:
    """Memories whose contents matter: outputs, and buffers that something reads."""
    found = {memory.name for memory in program.memories if memory.is_output}
    for step in steps:
        if step.kind == "read":
            found.add(step.get("memory"))
        found |= _memories(program, step.body)
    return found


def _needed(
    steps: tuple[Step, ...], used: set[str], memories: set[str]
) -> tuple[Step, ...]:
    kept: list[Step] = []
    for step in reversed(steps):
        used |= set(step.yields)
        body = _needed(step.body, used, memories)
        matters = step.kind in _EFFECTS or any(name in used for name in step.name)
        if step.kind in _WRITES and step.get("memory") not in memories:
            matters = False
        matters = matters or any(_has_effect(inner, memories) for inner in body)
        if matters:
            used |= set(step.args)
            used |= set(step.get("index", ()) or ())
            if step.get("register") is not None:
                used.add(step.get("register"))
            used |= {step.get("memory"), step.get("source")} - {None}
            kept.append(replace(step, body=body))
    return tuple(reversed(kept))


def _has_effect(step: Step, memories: set[str]) -> bool:
    if step.kind in _WRITES:
        return step.get("memory") in memories
    return step.kind in _EFFECTS or any(_has_effect(i, memories) for i in step.body)
