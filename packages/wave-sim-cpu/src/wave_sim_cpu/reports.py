"""Collects what a simulation finds, each finding once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import Severity, make_diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics import Diagnostic
    from wave_core.ops.base import Op


class Reporter:
    """Findings in the order they were made; one for each code and pair of lines."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: set[tuple[object, ...]] = set()
        self._found: list[Diagnostic] = []
        self.suppressed = 0

    @property
    def reports(self) -> tuple[Diagnostic, ...]:
        """The findings kept."""
        return tuple(self._found)

    def add(  # noqa: PLR0913 - one keyword for each part of a message
        self,
        code: str,
        message: str,
        op: Op,
        *,
        label: str = "",
        other: Op | None = None,
        other_label: str = "",
        notes: Iterable[str] = (),
        help: Iterable[str] = (),  # noqa: A002 - the word that is printed
        severity: Severity = Severity.ERROR,
        **data: object,
    ) -> None:
        """Keep a finding about ``op``, and about ``other`` where two take part."""
        key = (code, severity, _place(op), None if other is None else _place(other))
        if key in self._seen:
            return
        self._seen.add(key)
        if len(self._found) >= self._limit:
            self.suppressed += 1
            return
        secondary = [] if other is None else [(other.location, other_label)]
        self._found.append(
            make_diagnostic(
                code,
                message,
                op.location,
                label,
                secondary,
                tuple(notes),
                tuple(help),
                severity,
                **data,
            )
        )


def _place(op: Op) -> object:
    """The user's line, or the op itself where it comes from none."""
    location = op.location
    return location if location is not None and location.is_known else op.ident
