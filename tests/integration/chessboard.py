"""Half of all combinations in the tests, the other half with ``-m fuzz``."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence


def chessboard(*axes: Sequence[Any]) -> list[Any]:
    """All combinations; every other one, as the fields of a board, is for fuzz.

    Of two that differ by one step along one axis, one is in the tests, so that every
    value of every axis is.
    """
    places = product(*(range(len(axis)) for axis in axes))
    return [
        _field(row, [axis[i] for axis, i in zip(axes, row, strict=True)])
        for row in places
    ]


def _field(place: tuple[int, ...], values: list[Any]) -> Any:
    marks = pytest.mark.fuzz if sum(place) % 2 else ()
    return pytest.param(*values, marks=marks, id="-".join(map(_name, values)))


def _name(value: Any) -> str:
    parts = value if isinstance(value, tuple) else (getattr(value, "name", value),)
    return "-".join(map(str, parts))
