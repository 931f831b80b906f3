"""What importing costs over the bare interpreter, and which modules must stay out."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

from measure import Figure, report

REPEATS = 9
HEAVY = ("torch", "sympy", "numpy", "networkx")
MODULES = (
    ("wave_core", 0.3, HEAVY),
    ("wave_core.lang", 0.3, ("torch",)),
    ("wave_kernels", 0.3, HEAVY),
    ("wave_sim_cpu.plugin", 0.3, HEAVY),
    ("wave_core.cli", 0.3, HEAVY),
)
"""Module, limit in s of CPU time, and what it may not load."""

KEEPING = {"PYTHONDONTWRITEBYTECODE": ""}
"""What Python compiles is kept, as it is for users."""

PROBE = """
import json, sys, time
start = time.process_time()
if {name!r}: __import__({name!r})
spent = time.process_time() - start
heavy = [name for name in {heavy!r} if name in sys.modules]
print(json.dumps([time.process_time(), spent, heavy]))
"""


def probe(name, heavy=HEAVY):
    """CPU seconds of a whole process and of the import, and heavy modules loaded."""
    code = PROBE.format(name=name, heavy=heavy)
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | KEEPING
    )
    return json.loads(done.stdout)


def figures():
    probe("wave_core.lang")  # fills the cache of compiled modules
    alone = statistics.median(probe("sympy")[1] for _ in range(REPEATS))
    yield Figure("import sympy, part of wave_core.lang", alone, "s")
    bare = statistics.median(probe("")[0] for _ in range(REPEATS))
    for name, limit, forbidden in MODULES:
        runs = [probe(name, forbidden) for _ in range(REPEATS)]
        spent = statistics.median(run[0] for run in runs) - bare
        loaded = runs[0][2]
        note = f"loads {', '.join(loaded)}" if loaded else f"no {', '.join(forbidden)}"
        yield Figure(f"import {name}", spent, "s", -1.0 if loaded else limit, note)


if __name__ == "__main__":
    report(f"imports, CPU time over the bare interpreter, of {REPEATS}", figures())
