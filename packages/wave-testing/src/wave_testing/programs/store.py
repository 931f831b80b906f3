"""Programs as JSON values: how failures are kept."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from wave_testing.programs.model import Dim, MemorySpec, Program, ScalarSpec, Step


def to_json(program: Program) -> dict[str, Any]:
    """The program as JSON values."""
    return asdict(program)


def from_json(values: dict[str, Any]) -> Program:
    """The program that `to_json` gave these values for."""
    return Program(
        seed=values["seed"],
        dims=tuple(Dim(**row) for row in values["dims"]),
        memories=tuple(MemorySpec(**_frozen(row)) for row in values["memories"]),
        scalars=tuple(ScalarSpec(**row) for row in values["scalars"]),
        steps=tuple(_step(row) for row in values["steps"]),
        hardware=_tuples(values["hardware"]),
        reorder=_tuples(values["reorder"]),
        symbolic=values["symbolic"],
        tagged=values.get("tagged", True),
    )


def _step(row: dict[str, Any]) -> Step:
    fields = _frozen({key: value for key, value in row.items() if key != "body"})
    return Step(**fields, body=tuple(_step(inner) for inner in row["body"]))


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    return {key: _tuples(value) for key, value in row.items()}


def _tuples(value: Any) -> Any:
    """Lists as tuples, at all depths."""
    if isinstance(value, (list, tuple)):
        return tuple(_tuples(item) for item in value)  # pyright: ignore[reportUnknownVariableType] - JSON
    return value
