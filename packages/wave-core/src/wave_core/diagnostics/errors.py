"""Raising: exception classes, and functions that build one from a message."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeGuard, TypeVar

from wave_core.diagnostics.diagnostic import Diagnostic, Label, Severity
from wave_core.diagnostics.exception_types import (
    InternalError,
    LaunchError,
    PluginError,
    SimulationError,
    UserError,
    WaveError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from wave_core.diagnostics.location import Location

P = ParamSpec("P")
E = TypeVar("E", bound=WaveError)


def make_diagnostic(
    code: str,
    message: str,
    at: Location | None = None,
    label: str = "",
    secondary: Iterable[tuple[Location | None, str]] = (),
    notes: Iterable[str] | str = (),
    help: Iterable[str] | str = (),  # noqa: A002 # the word that is printed
    severity: Severity = Severity.ERROR,
    **data: object,
) -> Diagnostic:
    """A diagnostic from plain parts.

    Args:
        code: a row of the catalogue.
        message: what is wrong, with names and numbers.
        at: the line to change; unknown locations count as none.
        label: what to say under that line.
        secondary: other lines with what to say under each; those without a known
            location become notes.
        notes: facts that explain; one string is one note.
        help: things to do, best first; one string is one help.
        severity: how bad it is.
        data: values for tools.
    """
    pairs = tuple(secondary)
    return Diagnostic(
        code,
        message,
        Label(at, label) if _known(at) else None,
        tuple(Label(place, text) for place, text in pairs if _known(place)),
        (
            *((label,) if label and not _known(at) else ()),
            *(text for place, text in pairs if text and not _known(place)),
            *_texts(notes),
        ),
        _texts(help),
        dict(data),
        severity,
    )


def _known(location: Location | None) -> TypeGuard[Location]:
    return location is not None and location.is_known


def _texts(texts: Iterable[str] | str) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _raising(kind: type[E], make: Callable[P, Diagnostic]) -> Callable[P, E]:
    """A function that makes errors of one kind, from the arguments of ``make``."""

    def error(*args: P.args, **kwargs: P.kwargs) -> E:
        return kind(make(*args, **kwargs))

    error.__doc__ = f"{kind.__doc__} Arguments as of `make_diagnostic`."
    return error


user_error = _raising(UserError, make_diagnostic)
launch_error = _raising(LaunchError, make_diagnostic)
simulation_error = _raising(SimulationError, make_diagnostic)
plugin_error = _raising(PluginError, make_diagnostic)
internal_error = _raising(InternalError, make_diagnostic)


@contextmanager
def blamed_on_plugin(
    what: str,
    at: Location | None = None,
    notes: Iterable[str] | str = (),
    help: Iterable[str] | str = (),  # noqa: A002 # as of `make_diagnostic`
) -> Generator[None, None, None]:
    """Code of a plugin runs here; ``what`` names it and the plugin.

    Raises:
        PluginError: WV0819 where it raises anything but a diagnostic for users.
    """
    try:
        yield
    except (UserError, PluginError):
        raise
    except (Exception, SystemExit) as error:  # a plugin may fail in any way
        why: object = error
        if isinstance(error, WaveError) and error.diagnostics:
            why = f"[{error.code}] {error.diagnostics[0].message}"
        message = f"{what} failed: {type(error).__name__}: {why}"
        raise plugin_error("WV0819", message, at, notes=notes, help=help) from error
