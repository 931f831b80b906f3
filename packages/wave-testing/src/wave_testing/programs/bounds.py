"""How far the results of a program may be off where its numbers are rounded.

The program is run once more on magnitudes: each sum of products then is the sum of
the magnitudes of its products. Every element of a value is off by at most that, times
the roundings on the way to it, each of half a unit in the last place (Higham 2002,
section 3.1). Holds for what is linear in each operand, and for maxima and minima.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_testing.programs.exact import SIGNIFICANT, is_float
from wave_testing.programs.reference import Reference

if TYPE_CHECKING:
    from wave_testing.programs.model import Program, Step

    Array = np.ndarray[Any, np.dtype[Any]]

_MAGNITUDES: Mapping[str, str] = {
    "add": "add",
    "sub": "add",
    "mul": "mul",
    "maximum": "maximum",
    "minimum": "maximum",
    "neg": "abs",
    "abs": "abs",
}
"""What elementwise operations are on magnitudes."""

_MOVES = frozenset(
    {"read", "write", "splat", "permute", "broadcast", "allocate", "barrier"}
)
_NUMBERS = frozenset({"number", "value", "acc"})
_MATRIX_UNIT = 2.0**-23
"""Of the sums of matrix instructions, which may cut instead of rounding."""


_WIDE_FLOATS = frozenset({"f16", "bf16", "f32"})
"""Floats with infinities and NaN that all chips convert alike."""


def with_real_numbers(program: Program) -> Program:
    """The program on inputs that are no integers, where bounds can tell."""
    if not all(map(_is_known, program.walk())):
        return program
    return _filled(program, "real", [m.dtype for m in program.memories])


def with_special_numbers(program: Program) -> Program:
    """The program on inputs with infinities and NaN, where these mean something."""
    dtypes = {m.dtype for m in program.memories if m.fill in ("small", "")}
    if not dtypes <= _WIDE_FLOATS or not all(map(_is_known, program.walk())):
        return program
    return _filled(program, "special", dtypes)


def _filled(program: Program, fill: str, dtypes: Iterable[str]) -> Program:
    floats = {dtype for dtype in dtypes if is_float(dtype)}
    memories = tuple(
        replace(m, fill=fill) if m.fill == "small" and m.dtype in floats else m
        for m in program.memories
    )
    return replace(program, memories=memories)


def _is_known(step: Step) -> bool:
    if step.kind == "cast":
        return is_float(step.get("dtype"))
    return step.kind in _MOVES | _MAGNITUDES.keys() | {"mma", "reduce", "iterate"}


def error_bounds(program: Program, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """For each output by how much its elements may be off."""
    floats = {m.name for m in program.memories if is_float(m.dtype)}
    sizes = {name: np.abs(a) if name in floats else a for name, a in inputs.items()}
    shape = replace(program, steps=tuple(map(_on_magnitudes, program.steps)))
    reference = Reference(shape, sizes)
    reference.run()
    roundings = _Roundings(program)
    roundings.steps(program.steps)
    return {
        memory.name: reference.stores[memory.name].data
        * roundings.found.get(memory.name, 0.0)
        for memory in program.memories
        if memory.is_output
    }


def _on_magnitudes(step: Step) -> Step:
    attributes = [
        (key, abs(value) if key in _NUMBERS and value is not None else value)
        for key, value in step.attributes
    ]
    if step.kind == "reduce" and step.get("combine") == "min":
        attributes = [
            ("combine", "max") if k == "combine" else (k, v) for k, v in attributes
        ]
    return replace(
        step,
        kind=_MAGNITUDES.get(step.kind, step.kind),
        attributes=tuple(attributes),
        body=tuple(map(_on_magnitudes, step.body)),
    )


class _Roundings:
    """Counts roundings on the way to each value, in units of 1.

    Attributes:
        found: By the name of a value or memory.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.found: dict[str, float] = {}
        self._dtypes = {m.name: m.dtype for m in program.memories}
        self._dims: dict[str, tuple[str, ...]] = {}

    def steps(self, steps: tuple[Step, ...]) -> None:
        """Follow the steps of a body."""
        for step in steps:
            if step.kind == "iterate":
                self._loop(step)
            else:
                self._step(step)

    def _loop(self, step: Step) -> None:
        dim = self._program.dim(step.get("axis"))
        carried = [(self.found[n], self._dtypes[n], self._dims[n]) for n in step.args]
        for _ in range(max(1, dim.trips)):
            for name, row in zip(step.params, carried, strict=True):
                self.found[name], self._dtypes[name], self._dims[name] = row
            self.steps(step.body)
            carried = [
                (self.found[name], *row[1:])
                for name, row in zip(step.yields, carried, strict=True)
            ]
        for name, row in zip(step.name, carried, strict=True):
            self.found[name], self._dtypes[name], self._dims[name] = row

    def _step(self, step: Step) -> None:
        memory = step.get("memory")
        if step.kind == "write":
            before = self.found.get(memory, 0.0)
            self.found[memory] = max(before, self.found[step.args[0]])
            return
        for name in step.name:
            dtype = step.get("dtype") or self._dtypes[memory or step.args[-1]]
            self._dtypes[name] = dtype
            self._dims[name] = self._dims_of(step)
            if step.kind == "read":
                self.found[name] = self.found.get(memory, 0.0)
            elif step.kind != "allocate":
                self.found[name] = self._before(step) + self._own(step, dtype)

    def _dims_of(self, step: Step) -> tuple[str, ...]:
        if step.get("shape") is not None:
            return step.get("shape")
        dims = [self._dims[name] for name in step.args]
        if step.kind == "mma":
            return dims[-1]
        widest = max(dims, key=len, default=())
        return tuple(d for d in widest if d != step.get("dim"))

    def _before(self, step: Step) -> float:
        counts = [self.found[name] for name in step.args]
        if step.kind == "mul":
            return sum(counts)
        if step.kind == "mma":
            return max(counts[0] + counts[1], counts[2])
        return max(counts, default=0.0)

    def _own(self, step: Step, dtype: str) -> float:
        """The roundings of one step; twice, for products of errors are left out."""
        if not is_float(dtype) or step.kind in _MOVES:
            return 0.0
        unit = 2.0 * 2.0 ** -SIGNIFICANT[dtype]
        if step.kind == "mma":
            lhs, rhs = (set(self._dims[name]) for name in step.args[:2])
            both = lhs & rhs - set(self._dims[step.args[2]])
            return 2 * _MATRIX_UNIT * (prod(map(self._extent, both)) + 1)
        if step.kind == "reduce":
            count = self._extent(step.get("dim")) * len(step.args) + 1
            return unit * count if step.get("combine") == "sum" else 0.0
        return unit

    def _extent(self, name: str) -> int:
        dim = self._program.dim(name)
        return max(1, dim.extent if dim.loop is None else dim.loop)
