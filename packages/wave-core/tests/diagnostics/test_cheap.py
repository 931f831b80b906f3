"""What a location and an import may cost."""

from __future__ import annotations

import subprocess
import sys
import timeit

from wave_core.diagnostics import Location

#: A slow, shared machine needs about 1 microsecond; decoding would need 50.
CAPTURE_LIMIT_US = 10.0


def test_capturing_does_not_decode():
    best = min(timeit.repeat(Location.here, number=2000, repeat=5))
    assert best / 2000 * 1e6 < CAPTURE_LIMIT_US


LOADED = """
import sys
import wave_core.diagnostics
print(*sys.modules)
"""


def test_importing_needs_the_standard_library_only():
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"torch", "sympy", "numpy", "networkx", "rich"}


def test_importing_loads_no_other_layer():
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    ours = [name for name in done.stdout.split() if name.startswith("wave_core.")]
    assert ours
    assert all(name.startswith("wave_core.diagnostics") for name in ours)
