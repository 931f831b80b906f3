"""Schedules as files: the text format, and JSON."""

from __future__ import annotations

from wave_passes_scheduling.files.alone import schedule_of
from wave_passes_scheduling.files.as_json import read_json, write_json
from wave_passes_scheduling.files.match import (
    follow_file,
    schedule_file,
    unchecked_schedule,
)
from wave_passes_scheduling.files.rows import (
    ScheduleFile,
    ScheduleRow,
    ScheduleSyntaxError,
)
from wave_passes_scheduling.files.storage import load_schedule, save_schedule
from wave_passes_scheduling.files.text import read_text, write_text

__all__ = [
    "ScheduleFile",
    "ScheduleRow",
    "ScheduleSyntaxError",
    "follow_file",
    "load_schedule",
    "read_json",
    "read_text",
    "save_schedule",
    "schedule_file",
    "schedule_of",
    "unchecked_schedule",
    "write_json",
    "write_text",
]
