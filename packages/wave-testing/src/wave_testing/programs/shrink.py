"""Makes a failing program smaller, as long as it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

from wave_testing.programs.check import Discarded, ProgramFailure, check_program
from wave_testing.programs.exact import is_float
from wave_testing.programs.infer import Known, infer_types
from wave_testing.programs.literal import splat
from wave_testing.programs.model import Dim, MemorySpec, Program, Step
from wave_testing.programs.prune import pruned

T = TypeVar("T", Program, Dim, MemorySpec)

MAX_TRIES = 400
"""Programs to try: a minute or so."""


def shrink(
    failure: ProgramFailure,
    tries: int = MAX_TRIES,
    check: Callable[[Program], object] = check_program,
) -> ProgramFailure:
    """The failure of a smaller program with the same symptom in the same phase.

    Args:
        failure: What ``check`` raised.
        tries: Programs to try.
        check: Raises a `ProgramFailure` where a program is wrong.
    """
    best, left = failure, tries
    progress = True
    while progress and left > 0:
        progress = False
        # Those that drop most come first.
        program = best.program
        dropped, plainer = _without_steps(program), _simpler_launch(program)
        for candidate in chain(dropped, plainer, _simpler_steps(program)):
            left -= 1
            found = _fails_alike(candidate, failure, check)
            if found is not None:
                best, progress = found, True
                break
            if left <= 0:
                break
    return best


def _fails_alike(
    program: Program, failure: ProgramFailure, check: Callable[[Program], object]
) -> ProgramFailure | None:
    try:
        check(program)
    except ProgramFailure as found:
        same = (found.phase, found.symptom) == (failure.phase, failure.symptom)
        return found if same else None
    except Discarded:
        return None
    except Exception:  # noqa: BLE001 - a candidate may make no sense at all
        return None
    return None


def _without_steps(program: Program) -> Iterator[Program]:
    known = infer_types(program)
    # A constant as an index would be another mistake: all elements in one place.
    indices = {name for step in program.walk() for name in step.get("index", ())}
    for position, step in enumerate(program.walk()):
        if indices.intersection(step.name):
            continue
        steps = _edited(program.steps, [position], known)
        smaller = pruned(program.with_steps(steps))
        if smaller != program and smaller.steps:
            yield smaller


def _edited(steps: tuple[Step, ...], left: list[int], known: Known) -> tuple[Step, ...]:
    """The steps with one of them, counted in order, made trivial."""
    result: list[Step] = []
    for step in steps:
        here = left[0] == 0
        left[0] -= 1
        if here:
            result += _trivial(step, known)
        elif step.body:
            result.append(replace(step, body=_edited(step.body, left, known)))
        else:
            result.append(step)
    return tuple(result)


def _trivial(step: Step, known: Known) -> list[Step]:
    """Constants in place of a step."""
    found: list[Step] = []
    for name in [name for name in step.name if name in known]:
        dims, dtype = known[name]
        if step.kind == "splat" or dtype == "bool":
            return [step]
        found.append(splat(name, dtype, 1.0 if is_float(dtype) else 1, *dims))
    return found


def _simpler_launch(program: Program) -> Iterator[Program]:
    for key in range(len(program.hardware)):
        rest = program.hardware[:key] + program.hardware[key + 1 :]
        yield replace(program, hardware=rest)
    launch = ({"reorder": None}, {"symbolic": False}, {"tagged": False})
    yield from _different(program, launch)
    spread = ({"dynamic": False}, {"vector": None}, {"backwards": False})
    for at, dim in enumerate(program.dims):
        for simpler in _different(dim, (*spread, {"part": 0}, {"waves": 0})):
            dims = (*program.dims[:at], simpler, *program.dims[at + 1 :])
            yield replace(program, dims=dims)
    for at, memory in enumerate(program.memories):
        for simpler in _different(memory, ({"strided": False},)):
            memories = (*program.memories[:at], simpler, *program.memories[at + 1 :])
            yield replace(program, memories=memories)


def _different(whole: T, changes: Iterable[dict[str, Any]]) -> Iterator[T]:
    """Copies with other fields, as far as that makes a difference."""
    made = (replace(whole, **fields) for fields in changes)
    return (each for each in made if each != whole)


def _simpler_steps(program: Program) -> Iterator[Program]:
    for name in ("elements", "flags", "instruction", "padding"):
        steps = _without(program.steps, name)
        if steps != program.steps:
            yield program.with_steps(steps)
    words = (str(step).replace("'", " ").split() for step in program.walk())
    used = {word.strip("(),' ") for row in words for word in row}
    used |= {d for memory in program.memories for d in memory.dims}
    for dim in program.dims:
        last = max((d.axis for d in program.dims if d.axis is not None), default=0)
        if dim.name not in used and dim.axis in (None, last):
            yield replace(program, dims=tuple(d for d in program.dims if d is not dim))


def _without(steps: tuple[Step, ...], name: str) -> tuple[Step, ...]:
    return tuple(
        replace(
            step,
            attributes=tuple(row for row in step.attributes if row[0] != name),
            body=_without(step.body, name),
        )
        for step in steps
    )
