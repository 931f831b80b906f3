"""A program as short text, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_testing.programs.formula import formula_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_testing.programs.model import Dim, Program, Step

_FORMULAS = ("formula", "condition")


def program_text(program: Program) -> str:
    """The whole program, one line for each dimension, memory and step."""
    return "\n".join(_lines(program))


def _lines(program: Program) -> Iterator[str]:
    hardware = "".join(f" {key}={value}" for key, value in program.hardware)
    symbolic = " symbolic tiles" if program.symbolic else ""
    tagged = " tagged" if program.tagged else ""
    yield f"program seed {program.seed}{hardware}{symbolic}{tagged}"
    if program.reorder is not None:
        axis, formula = program.reorder
        yield f"  reorder $WG{axis} = {formula_text(formula)}"
    yield from (f"  dim {_dim(dim)}" for dim in program.dims)
    for memory in program.memories:
        kind = f"in {memory.fill} {memory.bound}" if memory.fill else "out"
        kind = f"update{kind[2:]}" if memory.updated else kind
        strided = " strided" if memory.strided else ""
        dims = ", ".join(memory.dims)
        yield f"  {kind} {memory.name}: [{dims}] {memory.dtype}{strided}"
    for scalar in program.scalars:
        kind = "bind" if scalar.bind else "scalar"
        yield f"  {kind} {scalar.name}: {scalar.dtype} = {scalar.value}"
    for step in program.steps:
        yield from _step(step, "  ")


def _dim(dim: Dim) -> str:
    parts = [f"{dim.name} = {dim.extent}"]
    if dim.dynamic:
        parts.append("dynamic")
    if dim.axis is not None:
        parts.append(f"workgroup axis {dim.axis} tile {dim.tile}")
    if dim.waves:
        parts.append(f"waves {dim.waves}")
    if dim.loop is not None:
        parts.append(f"loop tile {dim.loop}")
    if dim.copies > 1:
        parts.append(f"copied by {dim.copies} waves")
    if dim.part:
        parts.append(f"{dim.part} a device")
    if dim.backwards:
        parts.append("backwards")
    if dim.vector is not None:
        parts.append(f"vector {dim.vector}")
    return ", ".join(parts)


def _step(step: Step, indent: str) -> Iterator[str]:
    shown = " ".join(
        f"{key}={_value(key, value)}"
        for key, value in step.attributes
        if value not in (None, ())
    )
    left = f"{', '.join(step.name)} = " if step.name else ""
    right = " ".join(part for part in (step.kind, *step.args, shown) if part)
    if not step.body:
        yield f"{indent}{left}{right}"
        return
    yield f"{indent}{left}{right} ({', '.join(step.params)}):"
    for inner in step.body:
        yield from _step(inner, indent + "  ")
    yield f"{indent}  yield {', '.join(step.yields)}"


def _value(key: str, value: Any) -> str:
    if key in _FORMULAS:
        return formula_text(value)
    if key == "mapping":
        return f"[{', '.join(formula_text(part) for part in value)}]"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"  # pyright: ignore[reportUnknownArgumentType] - printed
    return str(value)
