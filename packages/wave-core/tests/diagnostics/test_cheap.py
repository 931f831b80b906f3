"""What a location and an import may cost."""

from __future__ import annotations

import subprocess
import sys
import timeit
from time import process_time
from types import CodeType

from wave_core.diagnostics import Location
from wave_core.diagnostics.source import decode

#: A slow, shared machine needs about 1 microsecond; decoding would need 50.
CAPTURE_LIMIT_US = 10.0


def test_capturing_does_not_decode():
    best = min(timeit.repeat(Location.here, number=2000, repeat=5))
    assert best / 2000 * 1e6 < CAPTURE_LIMIT_US


def test_places_of_a_long_function_are_found_as_fast_as_of_a_short_one():
    """Four times as many take four times as long, and not sixteen times."""
    short, long = (
        min(decoding(count, f"{turn}.py") for turn in range(3))
        for count in (1000, 4000)
    )
    assert long < 9 * short


def decoding(count, file):
    """Seconds of the processor for the places of that many calls."""
    text = "def f(g):\n" + "    g()\n" * count
    (code,) = (
        each
        for each in compile(text, file, "exec").co_consts
        if isinstance(each, CodeType)
    )
    calls = [at for at, (line, *_) in enumerate(code.co_positions()) if line]
    begin = process_time()
    for at in calls[:: len(calls) // count]:
        decode(code, 2 * at)
    return process_time() - begin


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
