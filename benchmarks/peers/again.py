"""A process that compiles once for each line on its input, and says what that took.

CPU seconds are those of the process and of all below it, so that compilers in processes
of their own count. Both sides of a comparison are started, and asked by turns.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
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
        children = below(place)
    except OSError:  # it ended, and counts where it was waited for
        return 0.0
    ended = sum(int(field) for field in fields[13:15]) / TICKS
    return own + ended + sum(spent(child) for child in children)


def below(place):
    """Numbers of the processes that the threads of one have started.

    A thread that ends meanwhile gives its processes to another one, which may have been
    asked already, so all are asked again. Taken for the end of the process, it would
    take all that this has spent out of the sum.

    Raises:
        OSError: the process ended.
    """
    while True:
        tasks = list((place / "task").iterdir())
        with suppress(FileNotFoundError, ProcessLookupError):
            rows = [(task / "children").read_text().split() for task in tasks]
            return [int(number) for row in rows for number in row]


def clock_of(process):
    """The clock of the CPU time of another process.

    Source: Linux, ``include/linux/posix-timers_types.h``: the number's complement, then
    three bits that say what the clock counts; 2 is what the scheduler saw.
    """
    return ~process << 3 | 2
