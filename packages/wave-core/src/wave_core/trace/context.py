"""Which kernel is being traced, in this thread or task."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from wave_core.diagnostics import capture_location, user_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.constraints import Constraint
    from wave_core.diagnostics import Location
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


class TracerLike(Protocol):
    """The interface of a tracer for surface functions; loading it loads no graph."""

    @property
    def constraints(self) -> Sequence[Constraint]:
        """The kernel's constraints."""
        ...

    @property
    def namespaces(self) -> Sequence[Mapping[str, Any]]:
        """Where names in annotations given as strings are looked up."""
        ...

    def emit(
        self, op: Op, location: Location, tags: frozenset[str] = frozenset()
    ) -> Op:
        """Infer the op's type and append it to the current region."""
        ...

    def use(self, op: Op, location: Location) -> Op:
        """The value as seen from the current region."""
        ...

    def new_region(self) -> Any:
        """A region for an op that is about to be emitted."""
        ...

    def fill(self, region: Any, body: Callable[[], Any]) -> Any:
        """Trace ``body`` into ``region``; gives what it returns."""
        ...

    def terminate(self, region: Any, op: Op, location: Location) -> None:
        """End ``region`` with ``op``."""
        ...

    def expression(self, value: Any, location: Location) -> Expr:
        """An expression from what users write, its obligations kept."""
        ...

    def label(self, name: str) -> str:
        """A name that no other argument of the kernel has."""
        ...


_ACTIVE: ContextVar[TracerLike | None] = ContextVar("wave_tracer", default=None)


def activate(tracer: TracerLike | None) -> Callable[[], None]:
    """Make ``tracer`` the active one; call the result to undo it."""
    token = _ACTIVE.set(tracer)
    return lambda: _ACTIVE.reset(token)


def active(what: str) -> TracerLike:
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
