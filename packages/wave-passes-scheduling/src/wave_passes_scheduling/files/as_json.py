"""Schedules as JSON: the same rows as the text format."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from wave_passes_scheduling.files.rows import (
    ScheduleFile,
    ScheduleSyntaxError,
    check_rows,
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
    except msgspec.DecodeError as error:
        raise ScheduleSyntaxError(1, str(error)) from error
    check_rows(found)
    return found
