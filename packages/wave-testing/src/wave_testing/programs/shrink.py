"""Makes a failing program smaller, as long as it fails in the same way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from wave_testing.programs.check import Discarded, ProgramFailure, check_program
from wave_testing.programs.exact import is_float
from wave_testing.programs.infer import infer_types
from wave_testing.programs.model import Dim, MemorySpec, Program, Step
from wave_testing.programs.prune import pruned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wave_testing.programs.infer import Known

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
        for candidate in _smaller(best.program):
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


def _smaller(program: Program) -> Iterator[Program]:
    """Smaller programs, those that drop most first."""
    yield from _without_steps(program)
    yield from _simpler_launch(program)
    yield from _simpler_steps(program)


def _without_steps(program: Program) -> Iterator[Program]:
    known = infer_types(program)
    count = sum(1 for _ in program.walk())
    for position in range(count):
        steps = _edited(program.steps, [position], known)
        if steps is not None:
            smaller = pruned(program.with_steps(steps))
            if smaller != program and smaller.steps:
                yield smaller


def _edited(
    steps: tuple[Step, ...], left: list[int], known: Known
) -> tuple[Step, ...] | None:
    """The steps with one of them, counted in order, made trivial."""
    result: list[Step] = []
    for step in steps:
        here = left[0] == 0
        left[0] -= 1
        if here:
            result += _trivial(step, known)
        elif step.body:
            body = _edited(step.body, left, known)
            result.append(replace(step, body=body or ()))
        else:
            result.append(step)
    return tuple(result)


def _trivial(step: Step, known: Known) -> list[Step]:
    """Constants in place of a step."""
    found: list[Step] = []
    for name in step.name:
        if name not in known:
            continue
        dims, dtype = known[name]
        if step.kind == "splat":
            return [step]
        number: Any = 1.0 if is_float(dtype) else 1
        attributes = (("dtype", dtype), ("shape", dims), ("value", number))
        if dtype == "bool":
            return [step]
        found.append(Step("splat", (name,), (), attributes))
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
    for name in ("elements", "instruction", "padding"):
        steps = _without(program.steps, name)
        if steps != program.steps:
            yield program.with_steps(steps)
    used = {d for step in program.walk() for d in _names(step)}
    used |= {d for memory in program.memories for d in memory.dims}
    for dim in program.dims:
        last = max((d.axis for d in program.dims if d.axis is not None), default=0)
        if dim.name not in used and dim.axis in (None, last):
            yield replace(program, dims=tuple(d for d in program.dims if d is not dim))


def _names(step: Step) -> Iterator[str]:
    text = str(step)
    yield from (part.strip("(),' ") for part in text.replace("'", " ").split())


def _without(steps: tuple[Step, ...], name: str) -> tuple[Step, ...]:
    return tuple(
        replace(
            step,
            attributes=tuple(row for row in step.attributes if row[0] != name),
            body=_without(step.body, name),
        )
        for step in steps
    )
