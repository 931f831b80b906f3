"""Names that the language will have: asking for one says so, with a code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import UserError, make_diagnostic

if TYPE_CHECKING:
    from wave_core.diagnostics import Location


class PlannedError(UserError, AttributeError):
    """A name that is planned and absent; an ``AttributeError``, so hasattr works."""


def planned(name: str, what: str, location: Location | None) -> PlannedError:
    """The error for the use of a planned part of the language.

    The code is WV0110.
    """
    return PlannedError(
        make_diagnostic(
            "WV0110",
            f"`{name}` is planned and not there yet",
            at=location,
            label=what,
            help="see the documentation of the language for what there is",
        )
    )
