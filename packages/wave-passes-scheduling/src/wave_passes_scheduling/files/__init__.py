"""Schedules as files: the text format, and JSON."""

from __future__ import annotations

from wave_passes_scheduling.files.alone import schedule_of
from wave_passes_scheduling.files.as_json import read_json
from wave_passes_scheduling.files.as_json import write_json
from wave_passes_scheduling.files.match import follow_file
from wave_passes_scheduling.files.match import schedule_file
from wave_passes_scheduling.files.match import unchecked_schedule
from wave_passes_scheduling.files.rows import ScheduleFile
from wave_passes_scheduling.files.rows import ScheduleRow
from wave_passes_scheduling.files.rows import ScheduleSyntaxError
from wave_passes_scheduling.files.storage import load_schedule
from wave_passes_scheduling.files.storage import save_schedule
from wave_passes_scheduling.files.text import read_text
from wave_passes_scheduling.files.text import write_text

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
