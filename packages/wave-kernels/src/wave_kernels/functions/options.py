"""Arguments that are no tensors: numbers, flags, words and types."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, SupportsFloat, SupportsIndex

import torch

from wave_kernels.functions.arguments import FLOATS

if TYPE_CHECKING:
    from collections.abc import Collection

    from wave_kernels.functions.arguments import Arguments

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


def whole(
    given: Arguments, name: str, value: object, least: int, most: int | None = None
) -> int:
    """An integer from ``least`` to ``most``, of whatever type can be an index.

    Raises:
        LaunchError: WV0704 for what is no integer, WV0707 for others.
    """
    number = _index(value)
    if number is None:
        given.refuse("WV0704", _is(name, value), "give an integer")
    if number < least or (most is not None and number > most):
        end = " or more" if most is None else f" to {most}"
        given.refuse("WV0707", f"`{name}` is {number}", f"it is {least}{end}")
    return number


def real(given: Arguments, name: str, value: object) -> float:
    """A number, of whatever type can be a float.

    Raises:
        LaunchError: WV0704 for what is none.
    """
    number = _float(value)
    if number is None:
        given.refuse("WV0704", _is(name, value), "give a number")
    return number


def flag(given: Arguments, name: str, value: object) -> bool:
    """Yes or no.

    Raises:
        LaunchError: WV0704 for what is neither.
    """
    if not isinstance(value, int):
        given.refuse("WV0704", _is(name, value), "give True or False")
    return bool(value)


def word(given: Arguments, name: str, value: object, words: Collection[str]) -> str:
    """One of some words.

    Raises:
        LaunchError: WV0707 for others.
    """
    if not isinstance(value, str) or value not in words:
        given.refuse("WV0707", _is(name, value), f"it is {' or '.join(words)}")
    return value


def stored_type(
    given: Arguments, name: str, value: object, default: torch.dtype
) -> torch.dtype:
    """The element type of a result: ``default`` where none is asked for.

    Raises:
        LaunchError: WV0705 for what no function stores.
    """
    return default if value is None else one_of_types(given, name, value, FLOATS)


def one_of_types(
    given: Arguments, name: str, value: object, dtypes: Collection[torch.dtype]
) -> torch.dtype:
    """An element type, one of some.

    Raises:
        LaunchError: WV0705 for others.
    """
    if not isinstance(value, torch.dtype) or value not in dtypes:
        names = " or ".join(str(each).removeprefix("torch.") for each in dtypes)
        given.refuse("WV0705", _is(name, value), f"it is {names}")
    return value


def _index(value: object) -> int | None:
    if not isinstance(value, SupportsIndex):
        return None
    try:
        return int(operator.index(value))
    except (TypeError, RuntimeError):
        return None  # Tensors are of a type with an index, and most have none.


def _float(value: object) -> float | None:
    if not isinstance(value, SupportsFloat):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None  # Tensors of several elements, and integers beyond all floats.


def _is(name: str, value: object) -> str:
    if isinstance(value, str | int | float | torch.dtype):
        return f"`{name}` is {value!r}"
    return f"`{name}` is a {type(value).__name__}"
