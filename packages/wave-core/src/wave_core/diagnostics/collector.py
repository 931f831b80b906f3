"""Gathers the diagnostics of a phase, so that a user sees all of them at once."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from wave_core.diagnostics.diagnostic import Diagnostic, Severity
from wave_core.diagnostics.errors import make_diagnostic
from wave_core.diagnostics.exception_types import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

P = ParamSpec("P")


def _collecting(
    make: Callable[P, Diagnostic],
) -> Callable[Concatenate[Collector, P], None]:
    """A method that collects the diagnostic that ``make`` gives."""

    def collect(self: Collector, *args: P.args, **kwargs: P.kwargs) -> None:
        self.add(make(*args, **kwargs))

    return collect


class Collector:
    """Diagnostics in a stable order, each once.

    Two diagnostics with equal code, message and primary place count as one.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Diagnostic] = {}
        self._raised: set[tuple[object, ...]] = set()
        self._phase: str | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything collected so far, by place and code."""
        return tuple(sorted(self._found.values(), key=Diagnostic.sort_key))

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The errors among the diagnostics."""
        return self._of(Severity.ERROR)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings among the diagnostics."""
        return self._of(Severity.WARNING)

    def _of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        return tuple(found for found in self.diagnostics if found.severity is severity)

    def add(self, diagnostic: Diagnostic) -> None:
        """Collect a diagnostic, unless an equal one is here already."""
        if self._phase is not None and "phase" not in diagnostic.data:
            data = {**diagnostic.data, "phase": self._phase}
            diagnostic = replace(diagnostic, data=data)
        self._found.setdefault(_key(diagnostic), diagnostic)

    error = _collecting(make_diagnostic)
    """Collect an error; arguments as of `make_diagnostic`."""
    warn = _collecting(partial(make_diagnostic, severity=Severity.WARNING))
    """Collect a warning; arguments as of `make_diagnostic`."""

    def raise_if_errors(self) -> None:
        """Raise the errors collected since the last call, all in one.

        Raises:
            UserError: there are such errors.
        """
        fresh = [error for error in self.errors if _key(error) not in self._raised]
        self._raised.update(_key(error) for error in fresh)
        if fresh:
            raise UserError(fresh)

    @contextmanager
    def absorb(self) -> Generator[None]:
        """Collect a `UserError` that the body raises, and go on after the body."""
        try:
            yield
        except UserError as error:
            for diagnostic in error.diagnostics:
                self.add(diagnostic)

    @contextmanager
    def phase(self, name: str) -> Generator[Collector]:
        """Collect through the body, then raise once.

        A `UserError` that ends the body early is raised with what was collected
        before it. The name is added to the data of each diagnostic.

        Raises:
            UserError: errors were collected.
        """
        outer, self._phase = self._phase, name
        try:
            with self.absorb():
                yield self
        finally:
            self._phase = outer
        self.raise_if_errors()


def _key(diagnostic: Diagnostic) -> tuple[object, ...]:
    return (diagnostic.code, diagnostic.message, diagnostic.location)
