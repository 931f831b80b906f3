"""What a function asks to be compiled, as a value and as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Self

import sympy

import wave_core.lang as tkl
from wave_core.types import DType

if TYPE_CHECKING:
    from wave_core.targets import Target


@dataclass(frozen=True)
class Request:
    """A kernel that a function asks for.

    Attributes:
        make: Gives the kernel's definition.
        what: Its arguments, hashable.
        sizes: The kernel's symbols, by name.
        dynamic: Symbols whose values come from the arguments, with each launch.
    """

    make: Callable[..., Any]
    what: Mapping[str, Any]
    sizes: Mapping[str, int]
    dynamic: Sequence[str] = ()

    @property
    def text(self) -> str:
        """What is computed, without the sizes: equal texts are the same kernel."""
        what = {name: described(value) for name, value in self.what.items()}
        name = f"{self.make.__module__}:{self.make.__qualname__}"
        return f"{name} {json.dumps(what, sort_keys=True)}"

    def options(self, device: str, target: str | Target) -> tkl.WaveCompileOptions:
        """How it is compiled for a device and a target."""
        return tkl.WaveCompileOptions(
            subs={getattr(tkl.sym, name): value for name, value in self.sizes.items()},
            dynamic_symbols=[getattr(tkl.sym, name) for name in self.dynamic],
            device=device,
            target=target,
        )

    def leaving(self, *names: str) -> Self:
        """The same with these sizes left to the launch; names it lacks do not count."""
        kept = {n: v for n, v in self.sizes.items() if n not in names}
        left = [n for n in names if n in self.sizes and n not in self.dynamic]
        return type(self)(self.make, self.what, kept, (*self.dynamic, *left))


def described(value: Any) -> object:
    """An argument of a definition as JSON; equal arguments give equal ones.

    Raises:
        TypeError: for what has no text of its own.
    """
    if isinstance(value, DType):
        return value.name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [described(row) for row in value]  # pyright: ignore[reportUnknownVariableType] - of anything
    if isinstance(value, sympy.Basic):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        names = (row.name for row in fields(value))
        return {name: described(getattr(value, name)) for name in names}
    raise TypeError(f"{type(value).__name__} has no text of its own")


_KEEPER: ContextVar[list[Request] | None] = ContextVar("requests", default=None)


@contextmanager
def requests_kept() -> Generator[list[Request]]:
    """Within it functions ask and nothing is launched; the requests, in order.

    Tensors may be on the device ``meta``, which has shapes and no memory.
    """
    found: list[Request] = []
    token = _KEEPER.set(found)
    try:
        yield found
    finally:
        _KEEPER.reset(token)


def are_kept() -> bool:
    """Whether somebody wants requests instead of launches."""
    return _KEEPER.get() is not None


def is_kept(request: Request) -> bool:
    """Whether somebody wants requests instead of launches, and has this one now."""
    keeper = _KEEPER.get()
    if keeper is None:
        return False
    keeper.append(request)
    return True
