"""A process that compiles once for each line on its input, and says what that took.

CPU seconds are those of the process and of all below it, so that compilers in processes
of their own count. Both sides of a comparison are started, and asked by turns.
"""

from __future__ import annotations

import json
import os
import sys
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

    Source: proc(5), fields 14 to 17 of ``stat`` and ``children``.
    """
    place = Path("/proc") / str(process)
    try:
        fields = (place / "stat").read_text().rpartition(")")[2].split()
        tasks = list((place / "task").iterdir())
        below = [int(n) for t in tasks for n in (t / "children").read_text().split()]
    except FileNotFoundError:  # it has ended, and counts where it was waited for
        return 0.0
    own = sum(int(field) for field in fields[11:15]) / TICKS
    return own + sum(spent(child) for child in below)
