"""Raising: exception classes, and functions that build one from a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

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
    from collections.abc import Iterable

    from wave_core.diagnostics.location import Location

__all__ = [
    "InternalError",
    "LaunchError",
    "PluginError",
    "SimulationError",
    "UserError",
    "WaveError",
    "internal_error",
    "launch_error",
    "make_diagnostic",
    "plugin_error",
    "simulation_error",
    "user_error",
]


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


def user_error(
    code: str,
    message: str,
    at: Location | None = None,
    label: str = "",
    secondary: Iterable[tuple[Location | None, str]] = (),
    notes: Iterable[str] | str = (),
    help: Iterable[str] | str = (),  # noqa: A002 # the word that is printed
    **data: object,
) -> UserError:
    """An error that the kernel author mends; arguments as of `make_diagnostic`."""
    return UserError(
        make_diagnostic(
            code, message, at, label, secondary, notes, help, Severity.ERROR, **data
        )
    )


def launch_error(
    code: str,
    message: str,
    at: Location | None = None,
    label: str = "",
    secondary: Iterable[tuple[Location | None, str]] = (),
    notes: Iterable[str] | str = (),
    help: Iterable[str] | str = (),  # noqa: A002 # the word that is printed
    **data: object,
) -> LaunchError:
    """An error in the arguments of a launch; arguments as of `make_diagnostic`."""
    return LaunchError(
        make_diagnostic(
            code, message, at, label, secondary, notes, help, Severity.ERROR, **data
        )
    )


def simulation_error(
    code: str,
    message: str,
    at: Location | None = None,
    label: str = "",
    secondary: Iterable[tuple[Location | None, str]] = (),
    notes: Iterable[str] | str = (),
    help: Iterable[str] | str = (),  # noqa: A002 # the word that is printed
    **data: object,
) -> SimulationError:
    """An error that the simulator saw; arguments as of `make_diagnostic`."""
    return SimulationError(
        make_diagnostic(
            code, message, at, label, secondary, notes, help, Severity.ERROR, **data
        )
    )


def plugin_error(
    code: str,
    message: str,
    at: Location | None = None,
    label: str = "",
    secondary: Iterable[tuple[Location | None, str]] = (),
    notes: Iterable[str] | str = (),
    help: Iterable[str] | str = (),  # noqa: A002 # the word that is printed
    **data: object,
) -> PluginError:
    """An error that the plugin author mends; arguments as of `make_diagnostic`."""
    return PluginError(
        make_diagnostic(
            code, message, at, label, secondary, notes, help, Severity.ERROR, **data
        )
    )


def internal_error(  # noqa: PLR0913 # one keyword per part of a message
    code: str,
    message: str,
    at: Location | None = None,
    label: str = "",
    secondary: Iterable[tuple[Location | None, str]] = (),
    notes: Iterable[str] | str = (),
    help: Iterable[str] | str = (),  # noqa: A002 # the word that is printed
    *,
    pass_name: str | None = None,
    dump_path: str | None = None,
    **data: object,
) -> InternalError:
    """An error that we mend; arguments as of `make_diagnostic`."""
    return InternalError(
        make_diagnostic(
            code, message, at, label, secondary, notes, help, Severity.ERROR, **data
        ),
        pass_name,
        dump_path,
    )
