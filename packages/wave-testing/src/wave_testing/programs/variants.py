"""Other forms of a program: on other numbers, or spread over devices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from wave_testing.programs.exact import FLOATS, is_float
from wave_testing.programs.infer import Known, infer_types
from wave_testing.programs.kinds import COMPARISONS, LOGIC, SHIFTS

if TYPE_CHECKING:
    import numpy as np

    from wave_testing.programs.model import Dim, Program, Step

_WIDE_FLOATS = frozenset({"f16", "bf16", "f32"})
"""Floats with infinities and NaN that all chips convert alike."""

_MOVES = {"read", "write", "splat", "permute", "broadcast", "allocate", "barrier"} | {
    *("slice", "hint", "copy"),
}
_SUMS = {"add", "sub", "mul", "maximum", "minimum", "neg", "abs", "iterate"} | {
    *("reduce", "scan", "total", "sort", "topk"),
}
_CHOICES = {*COMPARISONS, "select", "extract", "conditional", "argmax", "argmin"}
_INTEGERS = {"self_index", "apply", "set_symbol", "floordiv", "mod", "cast"}
_SCALED = _MOVES | _SUMS | _CHOICES | _INTEGERS | {*SHIFTS, *LOGIC}
"""Steps whose result doubles with all numbers, or has no floats at all."""


def with_real_numbers(program: Program) -> Program:
    """The program on inputs that are no integers, where no branch depends on them."""
    if any(
        step.kind == "set_symbol" or step.get("register") for step in program.walk()
    ):
        return program
    return _filled(program, "real", [m.dtype for m in program.memories])


def with_special_numbers(program: Program) -> Program:
    """The program on inputs with infinities and NaN, where these mean something."""
    dtypes = {m.dtype for m in program.memories if m.fill in ("small", "")}
    known = _MOVES | _SUMS | {"mma", "cast"}
    if not dtypes <= _WIDE_FLOATS or any(
        step.kind not in known or not is_float(step.get("dtype", "f32"))
        for step in program.walk()
    ):
        return program
    return _filled(program, "special", dtypes)


def _filled(program: Program, fill: str, dtypes: Iterable[str]) -> Program:
    floats = {dtype for dtype in dtypes if is_float(dtype)}
    memories = tuple(
        replace(m, fill=fill) if m.fill == "small" and m.dtype in floats else m
        for m in program.memories
    )
    return replace(program, memories=memories)


def with_tiny_numbers(program: Program) -> Program:
    """The program on multiples of the smallest float, where each result is one too."""
    known = infer_types(program)
    floats = {dtype for _, dtype in known.values() if is_float(dtype)}
    scaled = all(_is_scaled(step, known) for step in program.walk())
    if (
        len(floats) != 1
        or not scaled
        or any(is_float(s.dtype) for s in program.scalars)
    ):
        return program
    unit = 2.0 ** FLOATS[next(iter(floats))][1]
    steps = tuple(_times(step, unit, known) for step in program.steps)
    return replace(_filled(program, "tiny", floats), steps=steps)


def _is_scaled(step: Step, known: Known) -> bool:
    if step.kind == "cast":
        dtypes = {step.get("dtype"), known[step.args[0]][1]}
        return not any(map(is_float, dtypes))
    both = step.kind == "mul" and step.get("number") is None
    return step.kind in _SCALED and not (both and is_float(known[step.args[0]][1]))


def _times(step: Step, unit: float, known: Known) -> Step:
    """A step with its numbers in units of ``unit``, all but factors."""
    names = (*step.args, *step.name)
    floats = any(name in known and is_float(known[name][1]) for name in names)
    fields = dict(step.attributes)
    for name in {"number", "value", "acc"} & fields.keys():
        if floats and step.kind != "mul" and fields[name] is not None:
            fields[name] *= unit
    body = tuple(_times(inner, unit, known) for inner in step.body)
    return replace(step, attributes=tuple(sorted(fields.items())), body=body)


def on_devices(program: Program, rng: np.random.Generator) -> Program:
    """The program with each dimension of the grid cut for a few devices, if it may.

    Atomics of several devices would meet in one memory.
    """
    if any(step.kind in ("atomic", "exchange") for step in program.walk()):
        return program
    reordered = None if program.reorder is None else program.reorder[0]
    spread = sorted(
        (dim for dim in program.dims if dim.axis is not None),
        key=lambda dim: dim.axis or 0,
    )

    def may(dim: Dim) -> bool:
        fixed = dim.axis in (3, 4, reordered)
        return not fixed and not dim.backwards and dim.extent > 0

    # Axes of devices have no gaps.
    split = {
        dim.name: replace(dim, part=dim.tile * int(rng.integers(1, dim.groups + 1)))
        for dim in takewhile(may, spread)
    }
    dims = tuple(split.get(dim.name, dim) for dim in program.dims)
    return replace(program, dims=dims)


def in_waves_of(program: Program, lanes: int) -> Program:
    """The program with so many lanes in a wave, and instructions as they fit."""
    rows = tuple(row for row in program.hardware if row[0] != "mma_type")
    return replace(program, hardware=(*rows, ("threads_per_wave", lanes)))
