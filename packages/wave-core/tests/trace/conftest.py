"""Tracing a function as a kernel without constraints."""

from __future__ import annotations

import pytest

import wave_core.lang as tkw
from wave_core.diagnostics import UserError


@pytest.fixture(name="traced")
def _traced():
    def trace(function, *constraints, **bindings):
        return tkw.wave(constraints)(function).trace(bindings)

    return trace


@pytest.fixture(name="refused")
def _refused():
    def refuse(function, *constraints):
        with pytest.raises(UserError) as caught:
            tkw.wave(constraints)(function).trace()
        (diagnostic,) = caught.value.diagnostics
        return diagnostic

    return refuse


@pytest.fixture(name="line_of")
def _line_of():
    """The source line that a location points at."""

    def line(location) -> str:
        with open(location.file, encoding="utf-8") as file:  # noqa: PTH123
            return file.read().splitlines()[location.line - 1].strip()

    return line
