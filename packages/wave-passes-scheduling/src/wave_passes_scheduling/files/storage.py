"""Schedule files on disk: text, or JSON where the name ends in ``.json``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_passes_scheduling.files.as_json import read_json, write_json
from wave_passes_scheduling.files.rows import ScheduleSyntaxError
from wave_passes_scheduling.files.text import read_text, write_text

if TYPE_CHECKING:
    from wave_passes_scheduling.files.rows import ScheduleFile


def numbered(path: str, loop: int) -> str:
    """The file of a kernel's loop: the one given for the first, then ``NAME.1``."""
    given = Path(path)
    return path if not loop else str(given.with_stem(f"{given.stem}.{loop}"))


def load_schedule(path: str) -> ScheduleFile:
    """The schedule in a file.

    Raises:
        UserError: WV0505 a file that cannot be read, or is no schedule.
    """
    read = read_json if path.endswith(".json") else read_text
    try:
        return read(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, str(error)) from error
    except ScheduleSyntaxError as error:
        raise _unreadable(path, str(error)) from error


def save_schedule(schedule: ScheduleFile, path: str) -> None:
    """Write a schedule.

    Raises:
        UserError: WV0505 a file that cannot be written.
    """
    write = write_json if path.endswith(".json") else write_text
    try:
        Path(path).write_text(write(schedule), "utf-8")
    except OSError as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(path: str, why: str) -> Exception:
    return user_error(
        "WV0505",
        f"schedule file `{path}`: {why}",
        help="`dump_schedule=` writes a file of the right form",
    )
