"""Dims and element types of the values of a program, from its steps alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_testing.programs.kinds import COMPARISONS
from wave_testing.programs.reference import union_dims

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


def _value(  # noqa: PLR0911 - one return for each kind
    step: Step, known: Known, dtypes: dict[str, str]
) -> tuple[tuple[str, ...], str] | None:
    kind = step.kind
    if kind == "read":
        return step.get("shape"), dtypes[step.get("memory")]
    if kind == "splat":
        return step.get("shape"), step.get("dtype")
    if kind == "self_index":
        return (step.get("dim"),), step.get("dtype")
    dims, dtype = known[step.args[0]]
    if kind in ("broadcast", "permute"):
        return step.get("shape"), dtype
    if kind == "cast":
        return dims, step.get("dtype")
    if kind == "extract":
        return dims[:-1], dtype
    if kind == "reduce":
        return tuple(d for d in dims if d != step.get("dim")), dtype
    if kind == "mma":
        return known[step.args[2]]
    return _elementwise(step, known)


def _elementwise(step: Step, known: Known) -> tuple[tuple[str, ...], str] | None:
    dims = union_dims([known[name][0] for name in step.args])
    if dims is None:
        return None
    relation = step.kind == "apply" and step.get("formula")[0] in ("<", "<=", ">", ">=")
    if step.kind in COMPARISONS or relation:
        return dims, "bool"
    position = 1 if step.kind == "select" else 0
    return dims, known[step.args[position]][1]
