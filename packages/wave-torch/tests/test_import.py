"""Importing this package, and nothing else, makes its operators known."""

from __future__ import annotations

import subprocess
import sys

REGISTERED = "import {module}, torch; print(hasattr(torch.ops.wave, 'softmax'))"


def prints(module):
    script = REGISTERED.format(module=module)
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_operators_come_with_the_package():
    assert prints("wave_torch").strip() == "True"


def test_functions_alone_register_nothing():
    assert prints("wave_kernels.functions").strip() == "False"
