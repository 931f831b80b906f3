"""Output of commands: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import TextIO

    from rich.console import Console

    from wave_core.diagnostics import WaveError


#: Columns of tables that go to a file or a pipe.
_WIDTH = 160
#: Blanks between the columns of a table.
_GAP = 2


def out() -> Console:
    """Where results go."""
    from rich.console import Console  # noqa: PLC0415 - commands that print load it

    width = None if sys.stdout.isatty() else _WIDTH
    return Console(highlight=False, soft_wrap=True, width=width)


def notes() -> Console:
    """Where progress and announcements go."""
    from rich.console import Console  # noqa: PLC0415 - commands that print load it

    return Console(stderr=True, highlight=False, soft_wrap=True)


def announce(message: str) -> None:
    """Tell the user something beside the result."""
    prefix = "" if message.startswith("warning[") else "note: "
    notes().print(prefix + message, style="dim", markup=False)


def print_json(result: object) -> None:
    """One JSON object, the last thing on stdout."""
    sys.stdout.write(json.dumps(result, allow_nan=False) + "\n")
    sys.stdout.flush()


def print_text(text: str) -> None:
    """Text as it is."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def report_error(error: WaveError, *, as_json: bool) -> None:
    """Show diagnostics: rendered on stderr, or as JSON on stdout."""
    if as_json:
        rows = [diagnostic.to_json() for diagnostic in error.diagnostics]
        print_json({"error": error.code, "diagnostics": rows})
        return
    color = _takes_color(sys.stderr)
    for diagnostic in error.diagnostics:
        sys.stderr.write(diagnostic.render(color=color).rstrip() + "\n\n")
    if error.code:
        sys.stderr.write(f"`wave explain {error.code}` says more\n")


def _takes_color(stream: TextIO) -> bool:
    """Whether a stream is a terminal of somebody who wants colours (no-color.org)."""
    refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not refused


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows under headings, as wide as they need to be.

    Where there is room for the longest word of each column, no word is broken.
    """
    from rich.table import Table  # noqa: PLC0415 - commands that print load it
    from rich.text import Text  # noqa: PLC0415 - commands that print load it

    console = out()
    table = Table(box=None, pad_edge=False, header_style="bold")
    cells = [*zip(columns, *rows, strict=True)]
    widths = _widths(cells, console.width - _GAP * (len(columns) - 1))
    for column, width in zip(columns, widths, strict=True):
        table.add_column(column, overflow="fold", width=width)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table, soft_wrap=False)


def _widths(columns: Sequence[Sequence[str]], room: int) -> Sequence[int | None]:
    """How wide columns are, the narrow ones first; None where words have to break."""
    least = [max(map(_longest_word, texts)) for texts in columns]
    wanted = [max(map(_longest_line, texts)) for texts in columns]
    spare = room - sum(least)
    if spare < 0:
        return [None] * len(columns)
    widths = list(least)
    by_need = sorted(range(len(columns)), key=lambda at: wanted[at] - least[at])
    for others, at in zip(range(len(columns), 0, -1), by_need, strict=True):
        widths[at] += min(wanted[at] - least[at], spare // others)
        spare -= widths[at] - least[at]
    return widths


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _longest_line(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


@contextmanager
def progress() -> Generator[Callable[[str], None]]:
    """Shows what is going on while it lasts, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    console = notes()
    with console.status("start") as status:
        yield status.update
