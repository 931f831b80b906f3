"""Where a parameter of a traced function stands, found out only when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import Location

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.diagnostics.source import Span


class ParameterLocation(Location):
    """A parameter with its annotation.

    Finding it parses the whole source file, which costs more than all the rest of
    tracing; most kernels have no error to show it in.
    """

    __slots__ = ("_function", "_name")

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        super().__init__(getattr(function, "__code__", None))
        self._function = function
        self._name = name

    @property
    def span(self) -> Span:
        """The decoded range."""
        if self._span is None:
            self._span = Location.of_parameter(self._function, self._name).span
        return self._span

    def source_key(self) -> tuple[object, ...]:
        """Cheap identity: equal keys mean equal locations."""
        return (id(self.key_code), "parameter", self._name)
