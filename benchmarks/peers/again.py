"""A process that compiles once for each line on its input, and says what that took.

CPU seconds are those of the process and of all below it, so that compilers in processes
of their own count. Both sides of a comparison are started, and asked by turns.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def serve(compile_once):
    """Answer each line of the input with the CPU seconds of one compilation."""
    for _ in sys.stdin:
        begun = spent(os.getpid())
        compile_once()
        print(json.dumps({"cpu_seconds": spent(os.getpid()) - begun}), flush=True)


def spent(process):
    """CPU seconds of a process, of those below it, and of those that it waited for.

    Those that run count in nanoseconds, those that have ended in ticks of the system.

    Source: proc(5), fields 16 and 17 of ``stat`` and ``children``.
    """
    place = Path("/proc") / str(process)
    try:
        own = time.clock_gettime(clock_of(process))
        fields = (place / "stat").read_text().rpartition(")")[2].split()
        tasks = list((place / "task").iterdir())
        below = [int(n) for t in tasks for n in (t / "children").read_text().split()]
    except OSError:  # it ended, and counts where it was waited for
        return 0.0
    ended = sum(int(field) for field in fields[13:15]) / TICKS
    return own + ended + sum(spent(child) for child in below)


def clock_of(process):
    """The clock of the CPU time of another process.

    Source: Linux, ``include/linux/posix-timers_types.h``: the number's complement, then
    three bits that say what the clock counts; 2 is what the scheduler saw.
    """
    return ~process << 3 | 2
