"""Dims and element types of the values of a program, from its steps alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_testing.programs.dims import union_dims
from wave_testing.programs.kinds import (
    COMPARISONS,
    FUNCTIONS,
    OPERATORS,
    ROUNDED,
)

if TYPE_CHECKING:
    from wave_testing.programs.model import Program, Step

Known = dict[str, tuple[tuple[str, ...], str]]
"""Dims and element type by name of the value."""


def infer_types(program: Program) -> Known:
    """The type of each value of ``program``; values that make no sense are left out."""
    known: Known = {s.name: ((), s.dtype) for s in program.scalars}
    dtypes = {m.name: m.dtype for m in program.memories}
    _steps(program.steps, known, dtypes)
    return known


def _steps(steps: tuple[Step, ...], known: Known, dtypes: dict[str, str]) -> None:
    for step in steps:
        if step.kind == "allocate":
            dtypes[step.name[0]] = step.get("dtype")
        elif step.kind in ("iterate", "conditional"):
            _body(step, known, dtypes)
        elif step.name and all(name in known for name in step.args):
            found = _value(step, known, dtypes)
            if found is not None:
                known[step.name[0]] = found


def _body(step: Step, known: Known, dtypes: dict[str, str]) -> None:
    for param, init in zip(step.params, step.args, strict=False):
        if init in known:
            known[param] = known[init]
    _steps(step.body, known, dtypes)
    sources = step.args if step.kind == "iterate" else step.yields
    for name, source in zip(step.name, sources, strict=False):
        if source in known:
            known[name] = known[source]


def _value(
    step: Step, known: Known, dtypes: dict[str, str]
) -> tuple[tuple[str, ...], str] | None:
    kind = step.kind
    if kind in ("mma", "scaled"):
        return known[step.args[-1]]
    if kind in (*OPERATORS, *FUNCTIONS, *ROUNDED, "apply"):
        return _elementwise(step, known)
    dims, dtype = known[step.args[0]] if step.args else ((), "")
    if kind == "read":
        dtype = dtypes[step.get("memory")]
    elif kind == "self_index":
        dims = (step.get("dim"),)
    elif kind == "extract":
        dims = dims[:-1]
    elif kind == "reduce":
        dims = tuple(d for d in dims if d != step.get("dim"))
    return step.get("shape", dims), step.get("dtype", dtype)


def _elementwise(step: Step, known: Known) -> tuple[tuple[str, ...], str] | None:
    dims = union_dims([known[name][0] for name in step.args])
    if dims is None:
        return None
    relation = step.kind == "apply" and step.get("formula")[0] in ("<", "<=", ">", ">=")
    if step.kind in COMPARISONS or relation:
        return dims, "bool"
    position = 1 if step.kind == "select" else 0
    return dims, known[step.args[position]][1]
