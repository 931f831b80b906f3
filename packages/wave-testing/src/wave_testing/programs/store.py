"""Programs as JSON values: how failures are kept, and element types renamed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from wave_core.targets import Float8, Target
from wave_testing.programs.model import Program

_FNUZ: Mapping[str, str] = {"f8e4m3fn": "f8e4m3fnuz", "f8e5m2": "f8e5m2fnuz"}
"""The 8-bit floats of gfx942 in place of OCP's: as many significant bits."""


def to_json(program: Program) -> dict[str, Any]:
    """The program as JSON values."""
    return asdict(program)


def from_json(values: dict[str, Any]) -> Program:
    """The program that `to_json` gave these values for."""
    return msgspec.convert(_tuples(values, {}), Program)


def _tuples(value: Any, names: Mapping[str, str]) -> Any:
    """Lists as tuples, and some texts replaced, at all depths."""
    if isinstance(value, dict):
        return {key: _tuples(item, names) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
    if isinstance(value, (list, tuple)):
        return tuple(_tuples(item, names) for item in value)  # pyright: ignore[reportUnknownVariableType] - JSON
    return names.get(value, value) if isinstance(value, str) else value


def for_target(program: Program, target: Target) -> Program:
    """The program with the 8-bit floats that ``target`` converts."""
    if target.float8 is not Float8.FNUZ:
        return program
    return from_json(_tuples(to_json(program), _FNUZ))
