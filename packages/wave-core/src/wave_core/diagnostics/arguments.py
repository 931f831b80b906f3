"""Calls with arguments that a function of the language does not have."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from wave_core.diagnostics.errors import user_error
from wave_core.diagnostics.location import capture_location

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


def coded_init(cls: type[T]) -> type[T]:
    """Make a call of the class with wrong arguments a coded diagnostic."""
    cls.__init__ = coded_arguments(cls.__init__)
    return cls


def coded_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Make a call with unknown, missing or repeated arguments a coded diagnostic."""
    declared = signature(function)
    title = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TypeError:
            # Looked at where something is wrong: binding takes longer than most calls.
            check(*args, **kwargs)
            raise

    def check(*args: Any, **kwargs: Any) -> None:
        try:
            declared.bind(*args, **kwargs)
        except TypeError as error:
            names = ", ".join(name for name in declared.parameters if name != "self")
            raise user_error(
                "WV0106",
                f"`{title}`: {error}",
                at=capture_location(),
                help=(f"its arguments are: {names}",),
            ) from None

    return call
