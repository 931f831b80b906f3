"""Numbers the author's files and lines, and keeps each text and list of places once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wave_core.diagnostics.source import source_lines
from wave_view.records import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.diagnostics import Location
    from wave_view.records import Place


class Places:
    """Places of locations, in one table.

    Files are numbered in the order in which they are first asked for, so the first
    is that of the kernel where its location is asked for first.
    """

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._lists: dict[tuple[Place, ...], int] = {}
        self._above: dict[Place, dict[Place, None]] = {}
        self._seen: dict[Location, int] = {}

    def of(self, file: str, line: int) -> Place:
        """The place of a line."""
        number = self._files.setdefault(_same_name(file), len(self._files))
        return number, line

    def number(self, location: Location | None) -> int:
        """The number of the list of places that a location stands for."""
        if location is None or not location.is_known:
            return self._lists.setdefault((), len(self._lists))
        if location not in self._seen:
            found = tuple(dict.fromkeys(self._lines(location)))
            self._seen[location] = self._lists.setdefault(found, len(self._lists))
        return self._seen[location]

    def _lines(self, location: Location) -> Iterator[Place]:
        """Every line that the op comes from, those of its callers behind it."""
        for part in location.parts:
            below: list[Place] = []
            for span in part.spans:
                place = self.of(span.file, span.line)
                for each in below:
                    self._above.setdefault(each, {})[place] = None
                below.append(place)
                yield place

    def sources(self) -> tuple[Source, ...]:
        """The files with their text."""
        return tuple(
            Source(file, tuple(line.rstrip("\r\n") for line in source_lines(file)))
            for file in self._files
        )

    def lists(self) -> tuple[tuple[Place, ...], ...]:
        """The lists of places, by number."""
        return tuple(self._lists)

    def above(self) -> tuple[tuple[Place, tuple[Place, ...]], ...]:
        """Places with the lines that called them."""
        return tuple((place, tuple(rows)) for place, rows in self._above.items())


def _same_name(file: str) -> str:
    """One name for one file, however it is written; other names as they are."""
    path = Path(file)
    return str(path.resolve()) if path.is_file() else file
