"""Programs in the element types that a chip has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.targets import Float8
from wave_testing.programs.store import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.targets import Target
    from wave_testing.programs.model import Program

_FNUZ: Mapping[str, str] = {"f8e4m3fn": "f8e4m3fnuz", "f8e5m2": "f8e5m2fnuz"}
"""The 8-bit floats of gfx942 in place of OCP's: as many significant bits."""


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
