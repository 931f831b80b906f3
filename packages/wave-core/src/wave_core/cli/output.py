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
    """Rows under headings, as wide as they need to be."""
    from rich.table import Table  # noqa: PLC0415 - commands that print load it
    from rich.text import Text  # noqa: PLC0415 - commands that print load it

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out().print(table, soft_wrap=False)


@contextmanager
def progress() -> Generator[Callable[[str], None]]:
    """Shows what is going on while it lasts, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    console = notes()
    with console.status("start") as status:
        yield status.update
