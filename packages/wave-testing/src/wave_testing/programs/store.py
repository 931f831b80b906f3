"""Programs as JSON values: how failures are kept, and element types renamed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from wave_core.targets import Float8
from wave_testing.programs.model import Program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.targets import Target

_FNUZ: Mapping[str, str] = {"f8e4m3fn": "f8e4m3fnuz", "f8e5m2": "f8e5m2fnuz"}
"""The 8-bit floats of gfx942 in place of OCP's: as many significant bits."""


def to_json(program: Program) -> dict[str, Any]:
    """The program as JSON values."""
    return asdict(program)


def from_json(values: dict[str, Any]) -> Program:
    """The program that `to_json` gave these values for."""
    return msgspec.convert(_tuples(values), Program)


def _tuples(value: Any) -> Any:
    """Lists as tuples, at all depths."""
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
    if isinstance(value, (list, tuple)):
        return tuple(_tuples(item) for item in value)  # pyright: ignore[reportUnknownVariableType] - JSON
    return value


def for_target(program: Program, target: Target) -> Program:
    """The program with the 8-bit floats that ``target`` converts."""
    if target.float8 is not Float8.FNUZ:
        return program
    return from_json(_renamed(to_json(program)))


def _renamed(value: Any) -> Any:
    """A JSON value with the names of element types replaced, at all depths."""
    if isinstance(value, dict):
        return {key: _renamed(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
    if isinstance(value, (list, tuple)):
        return [_renamed(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    return _FNUZ.get(value, value) if isinstance(value, str) else value
