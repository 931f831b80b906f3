"""Numbering the waves of a workgroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.constraints import wave_symbol
from wave_core.constraints.machine import LANE
from wave_core.symbols import Expr, constant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.constraints.geometry import Geometry


def thread_number(geometry: Geometry) -> Expr:
    """The number of a lane in its workgroup, wave by wave."""
    return wave_number(geometry) * geometry.lanes + LANE


def wave_number(
    geometry: Geometry, coordinates: Mapping[int, Expr] | None = None
) -> Expr:
    """The wave's number in its workgroup, axis 0 fastest.

    ``coordinates`` replaces the wave's own coordinate on the axes it names.
    """
    given = coordinates or {}
    number, stride = constant(0), 1
    for axis, count in enumerate(geometry.waves):
        if count > 1:
            number = number + given.get(axis, wave_symbol(axis)) * stride
        stride *= count
    return number
