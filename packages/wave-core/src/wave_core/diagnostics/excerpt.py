"""Numbered source lines with labels underneath."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from wave_core.diagnostics.paint import Paint, Style, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wave_core.diagnostics.location import Location

#: A span of more lines shows its first and its last lines only.
_MAX_SPAN_LINES = 5

_MOST_CHARACTERS = 400
"""Of a line that is longer, such as one of a generated file, no more is shown."""


@dataclass(frozen=True)
class Marked:
    """A location to underline and what to say about it."""

    location: Location
    message: str
    primary: bool


@dataclass(frozen=True)
class _Mark:
    """An underline in one shown line: terminal columns from 0, end exclusive."""

    start: int
    end: int
    message: str
    primary: bool

    @property
    def underline(self) -> str:
        return ("^" if self.primary else "-") * (self.end - self.start)


class Excerpt:
    """The labelled source of one diagnostic."""

    def __init__(self, labels: Sequence[Marked], paint: Paint, style: Style) -> None:
        """Lay out labels; the first file shown is that of the first label."""
        self._paint = paint
        self._style = style
        self._labels = labels
        numbers = [n for label in labels for n in _shown_lines(label.location)]
        self._width = len(str(max(numbers, default=1)))

    @property
    def pad(self) -> str:
        """The blanks left of `|`, `=` and `-->`."""
        return " " * (self._width + 1)

    def lines(self) -> list[str]:
        """The excerpt as printed lines."""
        shown: list[str] = []
        arrow = "-->"
        for group in self._groups():
            where = self._gutter(f"{self.pad}{arrow} ") + display(group[0].location)
            shown += [where, *self._body(group)]
            arrow = ":::"
        return shown

    def _groups(self) -> list[list[Marked]]:
        """Labels by file; a label without source stands alone."""
        groups: dict[object, list[Marked]] = {}
        for index, label in enumerate(self._labels):
            known = label.location.source_line(label.location.line) is not None
            key = label.location.file if known else index
            groups.setdefault(key, []).append(label)
        return list(groups.values())

    def _body(self, group: list[Marked]) -> list[str]:
        marks = _marks_by_line(group)
        if not marks:
            messages = [label.message for label in group if label.message]
            return [self._margin(message) for message in messages]
        shown: list[str] = []
        previous = 0
        for number in sorted(marks):
            shown += self._gap(group[0].location, previous, number)
            shown.append(self._numbered(group[0].location, number))
            shown += map(self._margin, self._mark_rows(marks[number]))
            previous = number
        return shown

    def _gap(self, location: Location, previous: int, number: int) -> list[str]:
        """The rows between two shown lines: none, the one line, or dots."""
        if not previous or number == previous + 1:
            return []
        if number == previous + 2:
            return [self._numbered(location, previous + 1)]
        return [self._gutter("...")]

    def _numbered(self, location: Location, number: int) -> str:
        text, _ = shown_text(_line(location, number))
        gutter = self._gutter(f"{number:>{self._width}} |")
        return f"{gutter} {text}".rstrip() if text else gutter

    def _margin(self, text: str) -> str:
        return f"{self._gutter(f'{self.pad}|')} {text}"

    def _gutter(self, text: str) -> str:
        return self._paint(Style.GUTTER, text)

    def _mark_rows(self, marks: list[_Mark]) -> list[str]:
        """Rows of underlines with their messages, below one source line."""
        ordered = sorted(marks, key=lambda mark: (mark.start, mark.end))
        pairs = pairwise(ordered)
        if any(left.end > right.start for left, right in pairs):
            ordered.sort(key=lambda mark: not mark.primary)
            return [self._row([(mark.start, mark, _tail(mark))]) for mark in ordered]
        *others, last = ordered
        underlines = [(mark.start, mark, mark.underline) for mark in others]
        rows = [self._row([*underlines, (last.start, last, _tail(last))])]
        return rows + self._hanging([mark for mark in others if mark.message])

    def _hanging(self, marks: list[_Mark]) -> list[str]:
        """Messages of all but the last underline, joined to them by bars."""
        if not marks:
            return []
        rows = [self._row([(mark.start, mark, "|") for mark in marks])]
        while marks:
            *marks, last = marks
            bars = [(mark.start, mark, "|") for mark in marks]
            rows.append(self._row([*bars, (last.start, last, last.message)]))
        return rows

    def _row(self, pieces: Iterable[tuple[int, _Mark, str]]) -> str:
        row, width = "", 0
        for start, mark, text in pieces:
            style = self._style if mark.primary else Style.SECONDARY
            row += " " * (start - width) + self._paint(style, text)
            width = start + len(text)
        return row


def display(location: Location) -> str:
    """A location as text, its file relative to the working directory if inside."""
    text = str(location)
    here = os.getcwd() + os.sep  # noqa: PTH109 # a string prefix is wanted
    return text.removeprefix(here)


def _tail(mark: _Mark) -> str:
    return f"{mark.underline} {mark.message}".rstrip()


def _marks_by_line(labels: Iterable[Marked]) -> dict[int, list[_Mark]]:
    marks: dict[int, list[_Mark]] = {}
    for label in labels:
        for number in _shown_lines(label.location):
            mark = _mark(label, number)
            if mark is not None and mark not in marks.setdefault(number, []):
                marks[number].append(mark)
    return marks


def _shown_lines(location: Location) -> list[int]:
    """Lines of a span that have source, without the middle of a long one."""
    first, last = location.line, max(location.line, location.end_line)
    numbers = list(range(first, last + 1))
    if len(numbers) > _MAX_SPAN_LINES:
        numbers = [first, first + 1, last]
    return [n for n in numbers if location.source_line(n) is not None]


def _line(location: Location, number: int) -> str:
    """A line of the file; its beginning and dots, where it is too long to be shown."""
    text = location.source_line(number) or ""
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[:_MOST_CHARACTERS]}..."


def _mark(label: Marked, number: int) -> _Mark | None:
    """The underline of one line of a label; None for a blank line inside it."""
    place = label.location
    text = _line(place, number)
    last_line = max(place.line, place.end_line)
    first = len(text) - len(text.lstrip())
    last = len(text.rstrip())
    if number == place.line and place.column:
        first = min(place.column - 1, len(text))
    if number == last_line and place.end_column:
        last = min(place.end_column - 1, len(text))
    if first >= last and number not in {place.line, last_line}:
        return None
    _, columns = shown_text(text)
    start, end = columns[first], columns[max(first, last)]
    message = " ".join(label.message.split("\n")) if number == last_line else ""
    return _Mark(start, max(end, start + 1), message, label.primary)
