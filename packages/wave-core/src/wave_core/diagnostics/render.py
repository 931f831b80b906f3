"""Diagnostics as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics.excerpt import Excerpt, Marked, display
from wave_core.diagnostics.paint import Paint, Style

if TYPE_CHECKING:
    from wave_core.diagnostics.diagnostic import Diagnostic

_STYLES = {"error": Style.ERROR, "warning": Style.WARNING, "note": Style.NOTE}


def render(diagnostic: Diagnostic, *, color: bool = False) -> str:
    """A diagnostic with source excerpts.

    Args:
        diagnostic: what to print.
        color: whether to add ANSI colours.

    Returns:
        Lines without a final line end.
    """
    paint = Paint(color=color)
    style = _STYLES[diagnostic.severity.value]
    excerpt = Excerpt(_labels(diagnostic), paint, style)
    lines = _header(diagnostic, paint, style, excerpt.pad)
    lines += excerpt.lines()
    equals = paint(Style.GUTTER, f"{excerpt.pad}= ")
    for kind, text in _trailers(diagnostic):
        first, *more = text.split("\n")
        lines.append(f"{equals}{paint(Style.TITLE, kind)} {first}")
        indent = " " * (len(excerpt.pad) + len(kind) + 3)
        lines += [f"{indent}{line}".rstrip() for line in more]
    return "\n".join(lines)


def _header(diagnostic: Diagnostic, paint: Paint, style: Style, pad: str) -> list[str]:
    first, *more = diagnostic.message.split("\n")
    kind = paint(style, f"{diagnostic.severity.value}[{diagnostic.code}]")
    title = paint(Style.TITLE, f": {first}")
    return [f"{kind}{title}", *(f"{pad}{line}".rstrip() for line in more)]


def _labels(diagnostic: Diagnostic) -> list[Marked]:
    found = [Marked(s.location, s.message, primary=False) for s in diagnostic.secondary]
    primary = diagnostic.primary
    if primary is not None:
        found.insert(0, Marked(primary.location, primary.message, primary=True))
    return found


def _trailers(diagnostic: Diagnostic) -> list[tuple[str, str]]:
    """The lines below the excerpts, as kind and text."""
    location = diagnostic.location
    lines: list[tuple[str, str]] = []
    if location is not None:
        lines += [("called from", display(call)) for call in location.callers]
        lines += [("also from", display(part)) for part in location.parts[1:]]
    lines += [("note:", note) for note in diagnostic.notes]
    return lines + [("help:", text) for text in diagnostic.help]
