"""Which kernel is being traced, in this thread or task."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import capture_location, user_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.diagnostics import Location
    from wave_core.trace.tracer import Tracer


_ACTIVE: ContextVar[Tracer | None] = ContextVar("wave_tracer", default=None)


def activate(tracer: Tracer | None) -> Callable[[], None]:
    """Make ``tracer`` the active one; call the result to undo it."""
    token = _ACTIVE.set(tracer)
    return lambda: _ACTIVE.reset(token)


def active(what: str) -> Tracer:
    """The tracer of the kernel that is being traced.

    Raises:
        UserError: WV0101 outside a kernel; ``what`` is the op that was called.
    """
    tracer = _ACTIVE.get()
    if tracer is None:
        raise user_error(
            "WV0101",
            f"`{what}` is used outside a kernel",
            at=capture_location(),
            label="no kernel is being traced here",
            help=(
                "call it in a function decorated with `wave(constraints)`, and "
                "compile that with `wave_compile`"
            ),
        )
    return tracer


def is_tracing() -> bool:
    """Whether a kernel is being traced."""
    return _ACTIVE.get() is not None


def tag_set(tag: Any, location: Location) -> frozenset[str]:
    """The tags of a ``tag=`` argument.

    Raises:
        UserError: WV0115 for what is neither a string nor strings.
    """
    if tag is None:
        return frozenset()
    several = isinstance(tag, (set, frozenset, list, tuple))
    found: frozenset[Any] = frozenset(tag if several else (tag,))  # pyright: ignore[reportUnknownArgumentType] - checked here
    for item in found:
        if not isinstance(item, str):
            raise user_error(
                "WV0115",
                f"`{item!r}` is no tag",
                at=location,
                label="tags are strings",
                help='write `tag="name"`, or a set of names',
            )
    return found
