"""Schedule files on disk: text, or JSON where the name ends in ``.json``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from wave_core.diagnostics import user_error
from wave_passes_scheduling.files.text import (
    ScheduleFile,
    ScheduleSyntaxError,
    check_rows,
    read_text,
    write_text,
)


def write_json(schedule: ScheduleFile) -> str:
    """A schedule as JSON; ends with a newline."""
    document: dict[str, Any] = msgspec.to_builtins(schedule)
    for row in document["rows"]:
        row.pop("line", None)
    return json.dumps(document, indent=1) + "\n"


def read_json(text: str) -> ScheduleFile:
    """A schedule from JSON.

    Raises:
        ScheduleSyntaxError: text that is no JSON, or a field that is not as it has
            to be.
    """
    try:
        found = msgspec.json.decode(text, type=ScheduleFile)
    except msgspec.ValidationError as error:
        raise ScheduleSyntaxError(0, str(error)) from error
    except msgspec.DecodeError as error:
        raise ScheduleSyntaxError(_line(text, str(error)), str(error)) from error
    check_rows(found)
    return found


def _line(text: str, complaint: str) -> int:
    """The line of the byte that a complaint names; the last one where it names none."""
    found = re.search(r"\(byte (\d+)\)", complaint)
    data = text.encode()
    return data[: int(found[1]) if found else len(data)].count(b"\n") + 1


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
