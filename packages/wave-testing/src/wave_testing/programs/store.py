"""Programs as JSON values: how failures are kept, and element types renamed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from wave_core.targets import Float8, Target
from wave_core.types import DTYPES
from wave_testing.programs.model import Program
from wave_testing.programs.space import INSTRUCTIONS

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
    """The program with what ``target`` has of 8-bit floats and matrix instructions."""
    names = dict(_FNUZ) if target.float8 is Float8.FNUZ else {}
    rows = target.matrix_instructions
    known = {row.name for row in rows}
    of_halves = next(
        (row.name for row in rows if DTYPES["f16"] in row.operand_dtypes), ""
    )
    if of_halves:
        names |= {name: of_halves for name in INSTRUCTIONS if name not in known}
    return from_json(_tuples(to_json(program), names)) if names else program
