"""Calls of surface functions with arguments that they do not have."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from wave_core.diagnostics import capture_location, user_error

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


def coded_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Make a call with unknown, missing or repeated arguments a coded diagnostic."""
    declared = signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            declared.bind(*args, **kwargs)
        except TypeError as error:
            names = ", ".join(declared.parameters)
            raise user_error(
                "WV0106",
                f"`{function.__name__}`: {error}",
                at=capture_location(),
                help=(f"its arguments are: {names}",),
            ) from None
        return function(*args, **kwargs)

    return call
