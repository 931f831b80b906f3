"""Options of every backend that compiles in a process of its own."""

from __future__ import annotations

DEBUG_LINES = "debug_lines"
"""The option that puts the user's lines into machine code."""

IN_PROCESS = "compile_in_process"
"""The option to compile in the process of the caller, which a crash then ends."""

TIME_LIMIT, MEMORY_LIMIT = "compiler_time_limit_s", "compiler_memory_limit_mib"

LIMITS = {TIME_LIMIT: 120, MEMORY_LIMIT: 8192}
"""Limits of a compilation: seconds, and MiB of memory."""

BACKEND_OPTIONS: tuple[tuple[str, type, bool | int, str], ...] = (
    (DEBUG_LINES, bool, False, "the user's lines in machine code"),
    (IN_PROCESS, bool, False, "no process of its own for the compiler"),
    (TIME_LIMIT, int, LIMITS[TIME_LIMIT], "seconds that the compiler may take"),
    (MEMORY_LIMIT, int, LIMITS[MEMORY_LIMIT], "MiB that the compiler may use"),
)
"""Name, type, default and meaning; numbers count something, and start at 1."""
