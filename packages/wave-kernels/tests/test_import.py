"""The package and its plugin load no compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = "import sys, {}; print(*{{name.partition('.')[0] for name in sys.modules}})"


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("wave_kernels", {"torch", "sympy", "numpy", "wave_core"}),
        ("wave_kernels.plugin", {"torch", "sympy", "numpy"}),
    ],
)
def test_what_importing_loads(module, absent):
    command = [sys.executable, "-c", LOADED.format(module)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & absent == set()
